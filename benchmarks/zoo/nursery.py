"""A process that has imported one framework and nothing more, and forks a fresh process for every training.

Importing takes as long as a training; what is forked has not run a single operation of the framework.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from benchmarks.zoo.case import Advised
from benchmarks.zoo.child import cases_of, run

ROOT = Path(__file__).parents[2]
# One thread for computing and no helpers of numpy's: what is left of two CPUs belongs to loading.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
    "KERAS_BACKEND": "tensorflow",
}


class Nursery:
    """The side that asks."""

    def __init__(self, framework: str) -> None:
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.zoo.nursery", framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
        )
        self.cases: list[dict[str, Any]] = json.loads(self._line())

    def train(self, name: str, fix: Advised | None) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as directory:
            answer = Path(directory) / "answer.json"
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"name": name, "fix": fix, "answer": str(answer)}) + "\n")
            self._process.stdin.flush()
            self._line()
            if not answer.exists():
                raise RuntimeError(f"{name} failed, see above")
            return dict(json.loads(answer.read_text()))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the nursery died, see above")
        return line


def main(framework: str) -> None:
    import_framework(framework)
    cases = {case.name: case for case in cases_of(framework)}
    told = [
        {"name": case.name, "expects": case.expects, "cause": case.cause, "gain_of": case.gain_of}
        for case in cases.values()
    ]
    # Trainings may print; the answers have a channel of their own.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps(told), file=channel, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _in_child(cases[order["name"]], order["fix"], Path(order["answer"]))
        _, status = os.waitpid(child, 0)
        print(status, file=channel, flush=True)


def _in_child(case: Any, fix: Advised | None, answer: Path) -> None:
    code = 1
    try:
        run(case, fix, answer)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def import_framework(framework: str) -> None:
    if framework == "keras":
        import keras  # noqa: F401
        import tensorflow  # noqa: F401, ICN001
    else:
        import lightning.pytorch  # noqa: F401


if __name__ == "__main__":
    main(sys.argv[1])
