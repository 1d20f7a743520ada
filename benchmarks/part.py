"""How a part is run: in a process of its own, with one line of JSON as its answer."""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import load_average


@dataclass(frozen=True, slots=True)
class Effort:
    """A quick look takes a fraction of the rounds: to try the scripts, not to quote figures from."""

    quick: bool = False

    def rounds(self, usual: int) -> int:
        return 2 if self.quick else usual

    def steps(self, usual: int) -> int:
        return max(20, usual // 8) if self.quick else usual


def run_part(main: Callable[[Effort], dict[str, Any]]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--answer", type=Path, help="file for the answer; without it, it is printed")
    options = parser.parse_args()
    load, began = load_average(), time.perf_counter()
    figures = main(Effort(options.quick))
    answer = {
        "figures": figures,
        "took_s": round(time.perf_counter() - began, 1),
        "load_average_before": load,
        "quick": options.quick,
    }
    if options.answer is None:
        print(json.dumps(answer, indent=1))
    else:
        options.answer.write_text(json.dumps(answer))
