"""Decoded snapshots, so that a poll of 200 runs unpacks only what is new."""

from dataclasses import dataclass
from typing import Any, Final

from feedwatch.report.front_end import overview
from feedwatch.tab.reports import decode, tidy

# About 60 KB each: 2,000 of them are what a large shared log directory holds.
MAX_SNAPSHOTS: Final = 2000


@dataclass(frozen=True, slots=True)
class Snapshot:
    step: int
    wall_time: float
    row: dict[str, Any]
    decoded: dict[str, Any]

    @property
    def report(self) -> dict[str, Any]:
        """Bounded when somebody opens it: doing that for 200 histories would be most of the list's time."""
        bounded: dict[str, Any] = tidy(self.decoded)
        return bounded


class SnapshotCache:
    def __init__(self) -> None:
        self._snapshots: dict[str, Snapshot] = {}

    def of(self, run: str, datum: Any) -> Snapshot:
        known = self._snapshots.get(run)
        if known is not None and (known.step, known.wall_time) == (datum.step, datum.wall_time):
            return known
        decoded = decode(_payload(datum))
        row = {**tidy(overview(run, decoded)), "run": run, "step": int(datum.step)}
        snapshot = Snapshot(int(datum.step), float(datum.wall_time), row, decoded)
        if len(self._snapshots) >= MAX_SNAPSHOTS:
            self._snapshots.pop(next(iter(self._snapshots)), None)
        self._snapshots[run] = snapshot
        return snapshot


def _payload(datum: Any) -> object:
    try:
        value = datum.numpy.item()
    except Exception:
        return None  # not a rank-0 tensor
    # The Python reader gives str where every byte is text.
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
