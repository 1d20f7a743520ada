"""Which findings exclude which: the only place where rules meet."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from feedwatch.advise.ranking import Fired


class Silences(NamedTuple):
    stronger: str
    weaker: tuple[str, ...]
    reason: str


# Only what is impossible together. Which of several possible changes is the better one, their gains decide, and of
# changes to one knob the engine keeps one.
TABLE: Final[tuple[Silences, ...]] = (
    Silences("FW113", ("FW109",), "workers that repeat each other's items are not uneven, they are unsharded"),
    Silences("FW208", ("FW112", "FW207"), "a full device cannot hold data: they have to go back to the host"),
    Silences(
        "FW112",
        ("FW101", "FW102", "FW201", "FW202"),
        "device tensors cannot come from workers, and there is nothing left to copy",
    ),
    Silences(
        "FW207",
        ("FW201", "FW202", "FW203", "FW204", "FW205", "FW206"),
        "data that stay on the device are not copied at all",
    ),
    Silences(
        "FW201",
        ("FW202", "FW203", "FW206"),
        "a copy from pageable memory can neither overlap nor reach the link's speed",
    ),
    Silences("FW202", ("FW203",), "a copy the host waits for cannot run ahead"),
    Silences("FW205", ("FW206",), "small copies never reach the link's speed"),
    Silences("FW302", ("FW301", "FW303", "FW305", "FW307", "FW309"), "eager operations are the launches that cost"),
    Silences("FW307", ("FW301", "FW309"), "kernels are short because there is little to do"),
    Silences("FW305", ("FW301",), "the read at every step is why the host cannot run ahead"),
    Silences("FW401", ("FW402",), "the other profiler is why there is no trace"),
)


def without_silenced(fired: Iterable[Fired]) -> list[Fired]:
    """From the top of the table down: a silenced finding silences nobody."""
    alive = {one.rule.code: one for one in fired}
    for row in TABLE:
        if row.stronger in alive:
            for code in row.weaker:
                alive.pop(code, None)
    return list(alive.values())
