"""One process per framework that has imported everything and trained nothing on TensorFlow and JAX: every row gets a
fork of it, which is as good as a fresh process and takes a tenth of the time. A row that hangs is killed.

Reads `row directory` lines and answers each with one line of JSON.
"""

import json
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.faults.benches import bench_of
from tests.faults.rows import played

HARD_LIMIT_S = 60.0


def play(bench, name: str, where: Path) -> dict:
    try:
        return played(name, bench, where)
    except BaseException:
        return {"row": traceback.format_exc()}


def forked(bench, name: str, where: Path) -> dict:
    answer = where.parent / "answer.json"
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        # No finaliser of the zygote's own may run here; the answer is on the disk.
        answer.write_text(json.dumps(play(bench, name, where), default=str))
        os._exit(0)
    until = time.monotonic() + HARD_LIMIT_S
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return {"row": f"did not end within {HARD_LIMIT_S} s"}
        time.sleep(0.01)
    found = {"exit": os.waitstatus_to_exitcode(ended[1])}
    return found | (json.loads(answer.read_text()) if answer.exists() else {})


def compile_once(folder: str) -> dict[str, str]:
    """What JAX compiled for one row is there for the next."""
    return {
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as compiled:
        os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", **compile_once(compiled))
        bench = bench_of(sys.argv[1])
        for line in sys.stdin:
            name, where = line.split()
            print("ANSWER " + json.dumps(forked(bench, name, Path(where))), flush=True)


if __name__ == "__main__":
    main()
