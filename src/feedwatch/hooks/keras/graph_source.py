"""TensorFlow: stamps in the graph, or in Python where Keras fetches eagerly."""

from typing import Any

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.fetch_sources import FetchLog
from feedwatch.hooks.keras.graph_iterator import timed
from feedwatch.hooks.keras.graph_ring import GraphRing


class GraphSource:
    name = "in-graph timestamps"
    measures = True
    per_iterator = False
    drain_calls = 0

    def __init__(self) -> None:
        self.ring = GraphRing()
        self._eager = FetchLog()

    def wrap(self, iterator: Any) -> Any:
        twin = timed(iterator, self.ring, self._eager.append)
        if twin is None:
            self.measures = False
            return iterator
        return twin

    def drain(self) -> list[Fetch]:
        fetches = self.ring.drain()
        eager = self._eager.drain()
        return sorted([*fetches, *eager]) if eager and fetches else fetches or eager

    def close(self) -> None:
        self.ring.destroy()
