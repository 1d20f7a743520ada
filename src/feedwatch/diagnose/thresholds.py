"""Every number that decides, in one place, each with its source."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    # Below this nobody feels the difference, and step times vary by as much (xprof and torch-tb-profiler: 5 % too).
    worth_saying_share: float = 0.05
    # A median of fewer steps says more about noise than about the pipeline.
    min_steady_steps: int = 8
    # Handing over a batch that is ready takes 0.05-0.10 ms in TensorFlow's executor and in Python alike (measured):
    # no pipeline can do better, so less than this per batch is not a stall.
    handover_floor_ms: float = 0.15
    # A bare Lightning or Keras loop spends up to a millisecond per step on its own bookkeeping (measured with
    # empty models). The user cannot change that.
    loop_floor_ms: float = 1.0


THRESHOLDS: Final = Thresholds()
