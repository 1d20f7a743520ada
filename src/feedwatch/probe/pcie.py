"""What a PCIe link can carry in one direction, after its own encoding."""

from typing import Final

# GB/s per lane. Generations 1 and 2 spend a fifth of the bits on encoding, 3 to 5 about 1.5 %, 6 on its frames.
_GB_PER_S_PER_LANE: Final = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}


def link_gb_per_s(generation: int | None, width: int | None) -> float | None:
    if generation is None or width is None or width <= 0:
        return None
    per_lane = _GB_PER_S_PER_LANE.get(generation)
    return None if per_lane is None else per_lane * width
