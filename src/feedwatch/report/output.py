"""Where a run's figures go. The sink's thread calls these; the training thread never does."""

from collections.abc import Mapping
from typing import Protocol

from feedwatch.model.report import Report


class Output(Protocol):
    def scalars(self, step: int, values: Mapping[str, float], wall_s: float) -> None:
        """One point per window. Unknown values are not in the mapping."""
        ...

    def advice(self, step: int, markdown: str, wall_s: float) -> None:
        """When the verdict changes, and at the end."""
        ...

    def report(self, step: int, report: Report, wall_s: float) -> None:
        """A whole self-contained snapshot: verdict change, epoch end, every 30 s at most, end."""
        ...

    def flush(self) -> None: ...

    def close(self) -> None: ...
