"""How a part is run: in a process of its own, with one line of JSON as its answer."""

import argparse
import json
import time
from collections.abc import Callable, Mapping
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


Figures = dict[str, Any]
Portion = Callable[[Effort], Figures]


def merged(stored: Figures, fresh: Figures) -> Figures:
    """Fresh figures beside those that other portions stored: tables below the same name become one."""
    return stored | {
        name: merged(stored[name], value) if isinstance(value, dict) and isinstance(stored.get(name), dict) else value
        for name, value in fresh.items()
    }


def run_part(main: Portion | Mapping[str, Portion]) -> None:
    """`main`: the whole part, or its portions by name, for a machine that is quiet for some minutes only."""
    portions = main if isinstance(main, Mapping) else {"all": main}
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--portion", choices=portions, help="one of them instead of all")
    parser.add_argument("--answer", type=Path, help="file for the answer; without it, it is printed")
    options = parser.parse_args()
    load, began = load_average(), time.perf_counter()
    figures: Figures = {}
    for name in [options.portion] if options.portion else portions:
        figures = merged(figures, portions[name](Effort(options.quick)))
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
