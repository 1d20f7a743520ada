"""The four parts of a step. They add up to the step's wall time."""

from typing import Final

INPUT_WAIT: Final = "input_wait"
H2D: Final = "h2d"
COMPUTE: Final = "compute"
OTHER: Final = "other"

PHASES: Final = (INPUT_WAIT, H2D, COMPUTE, OTHER)
