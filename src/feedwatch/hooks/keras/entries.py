"""What a timeline keeps until its fetches are known, in the order in which it happened."""

from typing import NamedTuple


class Call(NamedTuple):
    """One call of the train function."""

    begin_ns: int
    called_ns: int  # the other callbacks' begin hooks are done
    end_ns: int | None  # on the training thread, where Keras tells
    until_ns: int
    key: tuple[int, int]  # epoch ordinal, last batch of the call
    traced: bool


class Pause(NamedTuple):
    """Between two epochs."""

    from_ns: int
    to_ns: int
    validation_ns: int
    loader_start_ns: int | None


class Epoch(NamedTuple):
    epoch: int


Entry = Call | Pause | Epoch
