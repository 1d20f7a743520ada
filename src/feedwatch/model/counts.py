"""How many steps stand behind the figures."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    measured: int = 0  # trusted steady steps
    warmup: int = 0
    distrusted: int = 0
    lost: int = 0  # marks and steps dropped
    batches: int = 0
    samples: int | None = None
    wall_s: float = 0.0  # steps of every kind and epoch gaps
