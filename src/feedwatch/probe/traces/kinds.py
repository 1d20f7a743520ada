"""Which host memory a copy came from: as the file says, or as the host's call betrays."""

import statistics
from collections.abc import Mapping
from typing import Final

from feedwatch.probe.traces.timeline import Copies

PINNED: Final = "pinned"
PAGEABLE: Final = "pageable"
OTHER: Final = "other"
UNKNOWN: Final = "unknown"

# A batch of input; below it lie scalars and shapes, whose time is latency and not bandwidth.
LARGE_BYTES: Final = 64 * 1024

# A copy from pageable memory holds the host until the driver has staged the bytes; a pinned one returns at once.
# In 17 traces that state the kind, the median of call time / copy time was at least 1.04 for pageable and at most
# 0.20 for pinned. Between the two nobody was seen, so nothing is said there.
PAGEABLE_CALL_RATIO: Final = 0.8
PINNED_CALL_RATIO: Final = 0.4

_STATED: Final = {"pinned": PINNED, "pageable": PAGEABLE, "unknown": UNKNOWN, "host": UNKNOWN}


def stated_kind(word: str) -> str:
    """`Host` (AMD) names no kind; managed, array and device memory are neither pinned nor pageable."""
    return _STATED.get(word.lower(), OTHER)


def infer_kinds(copies: Copies, call_ns: Mapping[int, float]) -> bool:
    """Fill in the kind of large copies that state none. True if any was inferred.

    Small copies stay unknown: the driver stages them at once from either memory.
    """
    unstated = [index for index, kind in enumerate(copies.kinds) if kind is None]
    large = [index for index in unstated if copies.sizes[index] >= LARGE_BYTES]
    ratios = [ratio for index in large if (ratio := _call_ratio(copies, index, call_ns)) is not None]
    kind = _kind_of_ratio(statistics.median(ratios)) if ratios else None
    if kind is None:
        return False
    for index in large:
        copies.kinds[index] = kind
    return True


def _call_ratio(copies: Copies, index: int, call_ns: Mapping[int, float]) -> float | None:
    correlation = copies.correlations[index]
    copy_ns = copies.spans.ends[index] - copies.spans.starts[index]
    if correlation is None or correlation not in call_ns or copy_ns <= 0:
        return None
    return call_ns[correlation] / copy_ns


def _kind_of_ratio(ratio: float) -> str | None:
    if ratio >= PAGEABLE_CALL_RATIO:
        return PAGEABLE
    return PINNED if ratio <= PINNED_CALL_RATIO else None
