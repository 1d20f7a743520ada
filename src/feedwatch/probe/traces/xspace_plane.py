"""One plane of an XSpace file: its names, and its events on the file's own time."""

from collections.abc import Iterator
from typing import Any

from feedwatch.probe.traces.timeline import MAX_DURATION_NS, MAX_TIME_NS

Ids = frozenset[int]


def text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


class PlaneReader:
    def __init__(self, plane: Any, origin_ns: int) -> None:
        self.lines = plane.lines
        self.aggregated = 0  # events that are only counts, without a time
        self._origin_ns = origin_ns
        self._event_metadata = {entry.key: entry.value for entry in plane.event_metadata}
        self.event_names = {key: text(value.name) for key, value in self._event_metadata.items()}
        self._stat_names = {entry.key: text(entry.value.name) for entry in plane.stat_metadata}

    def ids_of(self, stat: str) -> Ids:
        """A stat's name may be registered more than once; a plane that never uses it has none."""
        return frozenset(key for key, name in self._stat_names.items() if name == stat)

    def name_of(self, event: Any) -> str:
        return self.event_names.get(event.metadata_id, "")

    def timed_events(self, line: Any) -> Iterator[tuple[Any, float, float]]:
        """Each event with start and end in ns; damaged times and aggregated events have no place on a timeline."""
        line_ns = line.timestamp_ns - self._origin_ns
        for event in line.events:
            if event.num_occurrences:
                self.aggregated += 1
                continue
            start_ns = line_ns + event.offset_ps / 1000
            duration_ns = max(0.0, event.duration_ps / 1000)
            if -MAX_TIME_NS < start_ns < MAX_TIME_NS and duration_ns < MAX_DURATION_NS:
                yield event, start_ns, start_ns + duration_ns

    def stat(self, event: Any, ids: Ids) -> Any | None:
        """The event's own stat of that name, or the one all events of its name share."""
        if not ids:
            return None
        for stat in event.stats:
            if stat.metadata_id in ids:
                return stat
        metadata = self._event_metadata.get(event.metadata_id)
        if metadata is not None:
            for stat in metadata.stats:
                if stat.metadata_id in ids:
                    return stat
        return None

    def whole_number(self, event: Any, ids: Ids) -> int | None:
        stat = self.stat(event, ids)
        return None if stat is None else int(stat.int64_value or stat.uint64_value)

    def words(self, event: Any, ids: Ids) -> str | None:
        """Texts stand in the stat itself or, interned, as the name of another stat."""
        stat = self.stat(event, ids)
        if stat is None:
            return None
        own: bytes = stat.str_value or stat.bytes_value
        return text(own) if own else self._stat_names.get(stat.ref_value, "")
