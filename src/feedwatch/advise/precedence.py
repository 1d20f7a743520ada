"""Which findings silence which: the only place where rules meet."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from feedwatch.advise.ranking import Fired


class Silences(NamedTuple):
    stronger: str
    weaker: tuple[str, ...]
    reason: str


TABLE: Final[tuple[Silences, ...]] = ()


def without_silenced(fired: Iterable[Fired]) -> list[Fired]:
    """From the top of the table down: a silenced finding silences nobody."""
    alive = {one.rule.code: one for one in fired}
    for row in TABLE:
        if row.stronger in alive:
            for code in row.weaker:
                alive.pop(code, None)
    return list(alive.values())
