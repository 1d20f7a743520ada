"""Paired comparison: within a round all variants ran under the same conditions, so only their differences count."""

import statistics
from collections.abc import Mapping, Sequence
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


def rotated(names: Sequence[str], turn: int) -> list[str]:
    """Each round starts with another variant: none always runs on the warmest caches."""
    at = turn % len(names)
    return [*names[at:], *names[:at]]


def compared(taken: Mapping[str, Sequence[Mapping[str, float]]], bases: Mapping[str, str]) -> dict[str, object]:
    """`taken`: per variant one row of figures per round. The answer: the base's medians, and every difference."""
    figures = list(next(iter(taken.values()))[0])
    table: dict[str, object] = {}
    for variant, rounds in taken.items():
        base = taken[bases[variant]] if variant in bases else None
        row: dict[str, object] = {"is": {name: round(_median(rounds, name), 3) for name in figures}}
        if base is not None:
            row["against"] = bases[variant]
            row["adds"] = {
                name: paired([r[name] for r in rounds], [b[name] for b in base]).as_dict() for name in figures
            }
        table[variant] = row
    return table


def _median(rounds: Sequence[Mapping[str, float]], name: str) -> float:
    return statistics.median(each[name] for each in rounds)
