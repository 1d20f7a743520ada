"""Which findings silence which: the only place where rules meet."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from feedwatch.advise.ranking import Fired


class Silences(NamedTuple):
    stronger: str
    weaker: tuple[str, ...]
    reason: str


TABLE: Final[tuple[Silences, ...]] = (
    Silences("FW113", ("FW109",), "workers that repeat each other's items are not uneven, they are unsharded"),
    Silences("FW208", ("FW112", "FW207"), "a full device cannot hold data: they have to go back to the host"),
    Silences(
        "FW112",
        ("FW101", "FW102", "FW201", "FW202"),
        "device tensors cannot come from workers, and there is nothing left to copy",
    ),
    Silences(
        "FW106",
        ("FW101", "FW102", "FW103", "FW105", "FW107", "FW108", "FW110", "FW111"),
        "indexing whole batches removes the work that workers would share",
    ),
    Silences("FW103", ("FW101", "FW102", "FW105"), "fewer workers and more workers cannot both be right"),
    Silences("FW111", ("FW102", "FW105", "FW108", "FW110"), "storage is no faster when more workers ask"),
    Silences("FW110", ("FW101", "FW102", "FW105"), "without a free CPU more workers only take turns"),
    Silences("FW109", ("FW102", "FW105"), "the busiest worker stays the busiest, however many there are"),
    Silences("FW105", ("FW108",), "on average the load fits: a deeper queue is the smaller change"),
    Silences("FW101", ("FW108",), "stragglers matter once loading runs ahead; it does not yet"),
    Silences("FW131", ("FW120", "FW121", "FW124"), "the generator itself has to go first"),
    Silences("FW130", ("FW120", "FW121", "FW124"), "the PyDataset's own workers come first"),
    Silences(
        "FW124",
        ("FW120", "FW122", "FW125", "FW132"),
        "the interpreter's lock lets one call run at a time, whatever tf.data is told",
    ),
    Silences(
        "FW125", ("FW120", "FW122", "FW132"), "calls that cost more than their work should be fewer, not parallel"
    ),
    Silences("FW127", ("FW123",), "files that are opened per element are not read faster by interleaving"),
    Silences("FW132", ("FW120", "FW122"), "without a free CPU more parallel calls only take turns"),
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
    Silences("FW302", ("FW301", "FW303", "FW305", "FW307"), "eager operations are the launches that cost"),
    Silences("FW307", ("FW301",), "kernels are short because there is little to do"),
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
