"""Every number that decides, in one place, each with its source."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    # A loss of less than a tenth is not what bounds a run. `feedwatch check` asks for the same tenth by default, so
    # that a report that says "compute" passes it.
    bounds_share: float = 0.10
    # A change is shown when even the low end of its range is worth the edit: below this, the gain drowns in the
    # difference between two runs of one script (measured: 2 to 5 % on a quiet machine).
    least_gain: float = 1.05
    # What a part of the run has to cost before a rule names it (xprof and torch-tb-profiler use 5 % too).
    worth_saying_share: float = 0.05
    # NVML counts a moment as busy when any kernel ran in it. Below this, launching is what takes the time.
    busy_utilisation: float = 0.7
    # The model of the supply has to explain the run as it is within this, or its figures are not used.
    model_error: float = 0.15
    # A median of fewer steps says more about noise than about the pipeline.
    min_steady_steps: int = 8
    # Handing over a batch that is ready takes 0.05-0.10 ms in TensorFlow's executor and in Python alike (measured):
    # no pipeline can do better, so less than this per batch is not a stall.
    handover_floor_ms: float = 0.15
    # A bare Lightning or Keras loop spends up to a millisecond per step on its own bookkeeping (measured with
    # empty models). The user cannot change that.
    loop_floor_ms: float = 1.0


THRESHOLDS: Final = Thresholds()
