"""One process per framework that has imported everything and trained nothing on TensorFlow and JAX: every row gets a
fork of it, which is as good as a fresh process and takes a tenth of the time. A row that hangs is killed.

Reads `row directory` lines and answers each with one line of JSON. `keras_rows` stands for all rows of keras_rows.py.
"""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.benches import bench_of
from tests.faults.rows import ROWS, played

HARD_LIMIT_S = 60.0
KERAS_ROWS = "keras_rows"
Play = Callable[[], dict[str, Any]]


class InTheChild(Exception):
    """Leads out of `main`: a row may end as a script does, by an error that nobody catches."""

    def __init__(self, play: Play, answer: Path, *, uncaught: bool) -> None:
        self.play, self.answer, self.uncaught = play, answer, uncaught

    def run(self) -> None:
        try:
            found = self.play()
        except BaseException:
            if self.uncaught:
                raise
            found = {"row": traceback.format_exc()}
        self.answer.write_text(json.dumps(found, default=str))
        # No finaliser of the zygote's own may run here; the answer is on the disk.
        os._exit(0)


def forked(play: Play, answer: Path, *, uncaught: bool = False) -> dict[str, Any]:
    began, child = time.monotonic(), os.fork()
    if child == 0:
        os.setpgid(0, 0)
        raise InTheChild(play, answer, uncaught=uncaught)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > began + HARD_LIMIT_S:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return {"row": f"did not end within {HARD_LIMIT_S} s"}
        time.sleep(0.01)
    found = {"exit": os.waitstatus_to_exitcode(ended[1])}
    return found | (json.loads(answer.read_text()) if answer.exists() else {})


def answers(bench: Any) -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        name, where = line.split()
        place = Path(where)
        if name == KERAS_ROWS:
            from tests.faults import keras_rows

            place.mkdir()
            yield {each: forked(row, place / each) for each, row in keras_rows.rows().items()}
        else:
            play = partial(played, name, bench, place)
            yield forked(play, place.parent / "answer.json", uncaught=ROWS[name].uncaught)


def main() -> None:
    os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
    for answer in answers(bench_of(sys.argv[1])):
        print("ANSWER " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    child: InTheChild | None = None
    try:
        main()
    except InTheChild as row:
        child = row
    if child is not None:
        child.run()
