"""The Mann-Whitney test: are the values of one sample usually larger than those of the other?"""

import math

import numpy as np
from numpy.typing import NDArray


def mann_whitney_p(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Two-sided p by the normal approximation with ties and continuity corrected; good from eight values on."""
    n, m = len(a), len(b)
    ranks, tie_sizes = _mid_ranks(np.concatenate([a, b]))
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    total = n + m
    ties = float(((tie_sizes**3 - tie_sizes).sum()) / (total * (total - 1)))
    variance = n * m / 12 * (total + 1 - ties)
    if variance <= 0:
        return 1.0  # all values are equal
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


def _mid_ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Ranks from 1 on; equal values share the middle of theirs."""
    _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    middle = last - (sizes - 1) / 2
    return middle[place.reshape(-1)], sizes.astype(np.int64)
