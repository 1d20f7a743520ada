"""Large files: time and memory stay bounded. Run in a fresh process, so that the peak is the reader's own."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")

SCRIPT = """
import json, sys, time
from pathlib import Path

def peak_mb():
    # ru_maxrss would count the parent too: it outlives exec
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

from feedwatch.probe.traces import read_trace
began = time.process_time()
sample = read_trace(Path(sys.argv[1]))
print(json.dumps({
    "cpu_s": time.process_time() - began,
    "peak_mb": peak_mb(),
    "steps": sample.steps,
    "copies": sample.devices["GPU:0"].copies.count,
    "bytes": sample.devices["GPU:0"].copies.size_bytes,
}))
"""


def event(index):
    """As in a real file: most events are operators with long argument lists."""
    shapes = {"External id": index, "Input Dims": [[32, 3, 224, 224], [64, 3, 7, 7]], "Input type": ["float"] * 4}
    kinds = ("cpu_op", "python_function", "cuda_runtime", "kernel")
    name = f"torch/nn/modules/module.py({index % 997}): _call_impl"
    args = {**shapes, "device": 0, "stream": 7, "correlation": index}
    return {
        "ph": "X",
        "cat": kinds[index % 4],
        "name": name,
        "pid": 1,
        "tid": 2,
        "ts": index * 3.5,
        "dur": 3.1,
        "args": args,
    }


@pytest.mark.slow
def test_a_kineto_file_of_98_mb_takes_seconds_and_little_memory(tmp_path):
    path = tmp_path / "large.json"
    copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "ts": 1, "dur": 2}
    copies = 0
    many = ",\n".join(json.dumps(event(index), indent=2) for index in range(2000)) + ",\n"
    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        while file.tell() < 98_000_000:
            file.write(many)
            file.write(json.dumps({**copy, "ts": copies, "args": {"device": 0, "bytes": 1 << 20}}) + ",\n")
            copies += 1
        file.write('{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 900}\n]}')
    done = subprocess.run([sys.executable, "-c", SCRIPT, path], capture_output=True, text=True, timeout=120, check=True)
    answer = json.loads(done.stdout)
    assert (answer["steps"], answer["copies"], answer["bytes"]) == (1, copies, copies << 20)
    assert answer["peak_mb"] < 1000
    assert answer["cpu_s"] < 6  # of this process alone: the machine may be busy with others


@pytest.mark.parametrize(
    ("head", "piece", "says"),
    [
        pytest.param(b'{"traceEvents": [', b" " * 1_000_000, "cut off", id="blanks"),
        pytest.param(b"", b"\x0a\x00" * 250_000, "parts", id="f78-empty-planes"),
        pytest.param(b"", b"\x8a\x00\x00" * 200_000, "parts", id="f78-empty-planes-in-a-longer-form"),
    ],
)
def test_a_bomb_is_stopped_and_memory_stays_small(tmp_path, head, piece, says):
    """Hundreds of megabytes in one; the planes of two bytes would take gigabytes once they are parsed."""
    import gzip

    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(200):
            file.write(piece)
    script = SCRIPT.replace("read_trace(Path(sys.argv[1]))", "None")
    script = script.split("began =")[0] + (
        "from feedwatch.errors import TraceError\n"
        "try:\n    read_trace(Path(sys.argv[1]))\n"
        "except TraceError as error:\n    print(error)\n"
        "print(peak_mb())\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, timeout=120, check=True)
    said, peak_mb = done.stdout.strip().splitlines()
    assert says in said
    assert float(peak_mb) < 500
