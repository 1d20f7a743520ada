"""TensorFlow: stamps in the graph, or in Python where Keras fetches eagerly."""

from collections.abc import Sequence
from typing import Any, Final

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.fetch_sources import FetchLog
from feedwatch.hooks.keras.tf_iterator import timed
from feedwatch.hooks.keras.tf_stamps import GraphStamps

# Measured in alternating blocks of four calls with and without us, medians of 1,000 to 2,000 pairs, where a read takes
# 30 to 70 µs: -2 to 8 µs for the stamps of one fetch, 0 to 10 per batch with ten steps per execution. (25 to 40 where
# the pipeline's own functions compete for the CPUs: every op between two others then waits for a thread.)
COST_IN_READS: Final = 0.2


class GraphSource:
    name = "in-graph timestamps"
    measures = True
    per_iterator = False
    drain_calls = 0

    def __init__(self) -> None:
        self.stamps = GraphStamps()
        self._eager = FetchLog()

    def wrap(self, iterator: Any) -> Any:
        twin = timed(iterator, self.stamps, self._eager.append)
        if twin is None:
            self.measures = False
            return iterator
        return twin

    def drain(self) -> Sequence[Fetch]:
        fetches = self.stamps.drain()
        eager = self._eager.drain()
        return sorted([*fetches, *eager], key=_asked) if eager and fetches else fetches or eager

    def graph_cost_ns(self, batches_per_call: int) -> float | None:
        """What the ops in the graph cost a call: calibrated on this machine by the time of one small read."""
        if self.stamps.read_ns is None:
            return None
        return self.stamps.read_ns * COST_IN_READS * batches_per_call

    def close(self) -> None:
        self.stamps.destroy()


def _asked(fetch: Fetch) -> int:
    return fetch.asked_ns
