"""Records the traces of tests/data/traces on this machine: small, our own, one per profiler that feedwatch reads.

    python tools/record_traces.py [name ...]

Next to each trace stands what an independent reading of it says: TensorFlow's own message classes for XSpace, the json
module for Kineto, and interval arithmetic on whole nanoseconds. Nothing of feedwatch is used for it.
"""

import gzip
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
DATA: Final = ROOT / "tests" / "data" / "traces"
MAX_BYTES: Final = 200_000
STEPS: Final = 5
INPUT_S: Final = 0.004
COMPUTE_S: Final = 0.006

Span = tuple[int, int]


# -- the runs: a batch takes 4 ms to make, a step computes for 6 ms -----------------------------------


def record_tensorflow(target: Path) -> None:
    import tensorflow as tf

    def made(index: Any) -> Any:
        time.sleep(INPUT_S)
        return index

    options = tf.data.Options()
    options.autotune.enabled = False  # else tf.data prefetches by itself and nothing waits
    data = tf.data.Dataset.range(STEPS + 2).map(lambda i: tf.numpy_function(made, [i], tf.int64)).with_options(options)
    batches = iter(data)

    @tf.function
    def step(batches: Any) -> Any:
        return next(batches) + 1

    step(batches)
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder, tf.profiler.experimental.ProfilerOptions(python_tracer_level=0))
        for number in range(STEPS):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                step(batches)
                time.sleep(COMPUTE_S)
        tf.profiler.experimental.stop()
        _keep(next(Path(folder).rglob("*.xplane.pb")), target)


def record_jax(target: Path) -> None:
    import jax

    with tempfile.TemporaryDirectory() as folder:
        add = jax.jit(lambda x: x + 1)
        add(1.0).block_until_ready()
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        jax.profiler.start_trace(folder, profiler_options=options)
        for number in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                time.sleep(INPUT_S)
                add(1.0).block_until_ready()
                time.sleep(COMPUTE_S)
        jax.profiler.stop_trace()
        _keep(next(Path(folder).rglob("*.xplane.pb")), target)


def record_torch(target: Path) -> None:
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Items(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 2 * (STEPS + 1)

        def __getitem__(self, index: int) -> torch.Tensor:
            time.sleep(INPUT_S / 2)
            return torch.full((4,), float(index))

    layer = torch.nn.Linear(4, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1),  # steps are marked only by one
            on_trace_ready=lambda done: done.export_chrome_trace(str(path)),
        ) as profile:
            for batch in DataLoader(Items(), batch_size=2):
                layer(batch).sum().backward()
                time.sleep(COMPUTE_S)
                profile.step()
        _keep(path, target)


def _keep(trace: Path, target: Path) -> None:
    """Without this machine's name and paths: as many letters in their place, so that lengths in the file stay right."""
    data = trace.read_bytes()
    paths = rb"(?:%s|%s)[\w/.\-]*" % (re.escape(tempfile.gettempdir().encode()), re.escape(str(ROOT).encode()))
    data = re.sub(paths, lambda found: b"x" * len(found.group()), data)
    host = json.dumps(socket.gethostname()).encode()
    data = data.replace(host, b'"%s"' % (b"x" * (len(host) - 2)))
    target.write_bytes(gzip.compress(data, mtime=0))


# -- the independent reading ---------------------------------------------------------------------------


def read_xspace(data: bytes) -> dict[str, Any]:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(data)
    host = next(plane for plane in space.planes if plane.name == "/host:CPU")
    stats = {key: value.name for key, value in host.stat_metadata.items()}
    steps, waits = [], []
    for line in host.lines:
        for event in line.events:
            begin_ps = line.timestamp_ns * 1000 + event.offset_ps
            span = (begin_ps, begin_ps + event.duration_ps)
            if "step_num" in {stats[stat.metadata_id] for stat in event.stats}:
                steps.append(span)
            if re.match(r"IteratorGetNext\w*Op::DoCompute", host.event_metadata[event.metadata_id].name):
                waits.append(span)
    return _figures(steps, waits, units_per_ns=1000)


def read_kineto(data: bytes) -> dict[str, Any]:
    events = [event for event in json.loads(data)["traceEvents"] if event.get("ph") == "X"]
    steps = [_kineto_span(event) for event in events if event["name"].startswith("ProfilerStep#")]
    waits = [_kineto_span(event) for event in events if re.search(r"DataLoader.*__next__", event["name"])]
    return _figures(steps, waits, units_per_ns=1)


def _kineto_span(event: dict[str, Any]) -> Span:
    begin = round(float(event["ts"]) * 1000)
    return begin, begin + round(float(event["dur"]) * 1000)


def _figures(steps: list[Span], waits: list[Span], units_per_ns: int) -> dict[str, Any]:
    in_steps = sum(_length([_cut(wait, step) for wait in waits]) for step in steps)
    return {
        "steps": len(steps),
        "step_ns": round(sum(end - begin for begin, end in steps) / len(steps) / units_per_ns),
        "wait_events": len(waits),
        "wait_ns": round(_length(waits) / units_per_ns),
        "wait_in_steps_ns": round(in_steps / units_per_ns),
    }


def _cut(span: Span, to: Span) -> Span:
    begin = max(span[0], to[0])
    return begin, max(begin, min(span[1], to[1]))


def _length(spans: list[Span]) -> int:
    """Of the union: one span after the other, each counted from where the ones before it ended."""
    total, reached = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


RECORDERS: Final = {
    "tensorflow.xplane.pb.gz": (record_tensorflow, read_xspace),
    "jax.xplane.pb.gz": (record_jax, read_xspace),
    "torch.json.gz": (record_torch, read_kineto),
}


def record(name: str) -> None:
    recorder, reader = RECORDERS[name]
    target = DATA / name
    recorder(target)
    if target.stat().st_size > MAX_BYTES:
        sys.exit(f"{name}: {target.stat().st_size} bytes, more than {MAX_BYTES}")
    figures = reader(gzip.decompress(target.read_bytes()))
    (DATA / f"{name}.expected.json").write_text(json.dumps(figures, indent=2) + "\n")
    print(f"{name}: {target.stat().st_size} bytes, {figures}")


def main() -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    names = sys.argv[1:] or list(RECORDERS)
    if len(names) == 1:
        record(names[0])
        return
    for name in names:  # one process each: the profilers of two frameworks see each other's events
        subprocess.run([sys.executable, __file__, name], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
