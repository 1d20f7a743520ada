"""Paired comparison: within a round all variants ran under the same conditions, so only their differences count."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """A median and the quartiles around it."""

    median: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        return {name: round(value, 3) for name, value in asdict(self).items()}


def spread(values: Sequence[float]) -> Spread:
    if len(values) < 2:
        return Spread(values[0], values[0], values[0])
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(middle, low, high)


def differences(variant: Sequence[float], base: Sequence[float]) -> list[float]:
    """Round by round; both have one value per round."""
    return [ours - plain for ours, plain in zip(variant, base, strict=True)]


def paired(variant: Sequence[float], base: Sequence[float]) -> Spread:
    return spread(differences(variant, base))


Row = Mapping[str, float]  # figures of one fit
Pair = tuple[Row, Row]  # a variant's fit and the base's, one right after the other


def take_pair(variant: Callable[[], Row], base: Callable[[], Row], turn: int) -> Pair:
    """Side by side in time, in turns who is first: a machine drifts within seconds."""
    if turn % 2:
        plain = base()
        return variant(), plain
    ours = variant()
    return ours, base()


def compared(pairs: Sequence[Pair], against: str) -> dict[str, object]:
    """What the variant and its base take, and every difference."""
    figures = list(pairs[0][0])
    return {
        "against": against,
        "pairs": len(pairs),
        "is": {name: round(statistics.median(ours[name] for ours, _ in pairs), 3) for name in figures},
        "base": {name: round(statistics.median(base[name] for _, base in pairs), 3) for name in figures},
        "adds": {
            name: paired([ours[name] for ours, _ in pairs], [base[name] for _, base in pairs]).as_dict()
            for name in figures
        },
    }
