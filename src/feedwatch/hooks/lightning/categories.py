"""Where the time of the training thread goes. The first is everything nobody claims."""

from typing import Final

OTHER: Final = 0
INPUT: Final = 1
H2D: Final = 2
COMPUTE: Final = 3
VALIDATION: Final = 4
LOADER_START: Final = 5
CHECKPOINT: Final = 6

NAMES: Final = ("other", "input_wait", "h2d", "compute", "validation", "loader_start", "checkpoint")
