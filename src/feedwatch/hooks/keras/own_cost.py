"""What we cost per step: the hooks sampled or calibrated, the drains added up, the graph's ops by calibration."""

from typing import Final

# A pair of clock readings costs as much as a hook; every 32nd call is enough for a mean.
SAMPLE_MASK: Final = 31


class OwnCost:
    __slots__ = ("_drain_ns", "_hook_ns", "_hooks", "graph_ns_per_call")

    def __init__(self) -> None:
        self.graph_ns_per_call = 0.0
        self._hook_ns = 0
        self._hooks = 0
        self._drain_ns = 0

    @property
    def sampled(self) -> bool:
        return self._hooks > 0

    def hooks(self, took_ns: int) -> None:
        """One begin and end hook together."""
        self._hook_ns += took_ns
        self._hooks += 1

    def drain(self, took_ns: int) -> None:
        self._drain_ns += took_ns

    def ns_per_step(self, calls: int) -> float | None:
        if not calls or not self._hooks:
            return None
        return self._hook_ns / self._hooks + self._drain_ns / calls + self.graph_ns_per_call
