"""What a timeline keeps until its fetches are known, in the order in which it happened, and what comes out of it."""

from typing import NamedTuple

from feedwatch.model.steps import EpochGap, StepRecord


class Call(NamedTuple):
    """One call of the train function."""

    begin_ns: int
    called_ns: int  # the other callbacks' begin hooks are done
    end_ns: int | None  # on the training thread, where Keras tells
    until_ns: int
    key: tuple[int, int]  # epoch ordinal, number of the call in it
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


class EpochMark(NamedTuple):
    epoch: int
    step: int


Item = StepRecord | EpochGap | EpochMark
