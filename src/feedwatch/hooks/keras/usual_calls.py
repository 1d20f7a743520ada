"""Calls and fetches paired many at a time: the usual calls of a TensorFlow run, which are nearly all of them.

A usual call fetched as many batches as it was asked for, between its begin and its end. Arithmetic and results are
those of `attribution.host_record`, for columns instead of numbers: call by call, ten batches each took 40 µs on the
training thread.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Final

import numpy as np

from feedwatch.hooks.keras.entries import Call
from feedwatch.hooks.keras.fetch_columns import FetchColumns, Integers
from feedwatch.model.steps import StepKind, StepRecord

# Below this, making arrays takes longer than pairing one by one.
LEAST_CALLS: Final = 4


def usual_records(
    calls: Sequence[Call], fetches: FetchColumns, per_call: int, steps_before: int, samples_per_batch: int | None
) -> list[StepRecord]:
    """Records of the leading calls, up to the first that is not usual; each takes `per_call` fetches."""
    count = min(len(calls), len(fetches) // per_call)
    if count < LEAST_CALLS:
        return []
    begins, calleds, ends, untils, _, traced = zip(*calls[:count], strict=True)
    if None in ends or True in traced:
        return usual_records(_leading(calls[:count]), fetches, per_call, steps_before, samples_per_batch)
    begin_ns, called_ns, end_ns, until_ns = (_column(each) for each in (begins, calleds, ends, untils))
    asked_ns = fetches.asked_ns[: count * per_call].reshape(count, per_call)
    got_ns = fetches.got_ns[: count * per_call].reshape(count, per_call)
    usual = (
        (begin_ns <= called_ns)
        & (called_ns <= asked_ns[:, 0])
        & (asked_ns[:, -1] < end_ns)
        & (got_ns[:, -1] <= end_ns)
        & (end_ns <= until_ns)
        & (_next_asked(fetches, count, per_call) >= end_ns)
        & np.all(asked_ns <= got_ns, axis=1)
        & np.all(asked_ns[:, 1:] >= asked_ns[:, :-1], axis=1)
        & np.all(got_ns[:, 1:] >= got_ns[:, :-1], axis=1)
    )
    if not usual.all():
        count = int(np.argmin(usual))
        if not count:
            return []
    wall_ns = np.maximum(1, until_ns - begin_ns)
    wait_ns = np.minimum(_waits(asked_ns, got_ns, end_ns), wall_ns)
    compute_ns = np.minimum(np.maximum(0, end_ns - called_ns - wait_ns), wall_ns - wait_ns)
    steps = range(steps_before + per_call, steps_before + per_call * count + 1, per_call)
    columns = zip(
        steps,
        wall_ns[:count].tolist(),
        wait_ns[:count].tolist(),
        repeat(None),
        compute_ns[:count].tolist(),
        repeat(per_call),
        _samples(fetches.samples[: count * per_call].reshape(count, per_call), samples_per_batch),
        repeat(None),
        repeat(None),
        repeat(StepKind.STEADY),
        strict=False,
    )
    return list(map(StepRecord._make, columns))


def _samples(counted: Integers, per_batch: int | None) -> Iterable[int | None]:
    """By call. None: one of its batches does not tell, and nobody else knows."""
    if not counted.any():
        return repeat(None if per_batch is None else per_batch * counted.shape[1])
    if per_batch is not None:
        counted = np.where(counted, counted, per_batch)
    totals = np.where(np.min(counted, axis=1) > 0, np.sum(counted, axis=1), 0)
    return (total or None for total in totals.tolist())


def _leading(calls: Sequence[Call]) -> Sequence[Call]:
    """Those before the first that was traced or did not end."""
    for count, call in enumerate(calls):
        if call.traced or call.end_ns is None:
            return calls[:count]
    return calls


def _column(values: Sequence[int | None]) -> Integers:
    return np.array(values, np.int64)


def _next_asked(fetches: FetchColumns, count: int, per_call: int) -> Integers:
    """By call: when the fetch behind its own was asked for. An extra fetch inside a call makes it unusual."""
    following = fetches.asked_ns[per_call : count * per_call + 1 : per_call]
    if len(following) == count:
        return following
    return np.append(following, np.iinfo(np.int64).max)


def _waits(asked_ns: Integers, got_ns: Integers, end_ns: Integers) -> Integers:
    """`attribution.attribute`, a row per call."""
    per_call = asked_ns.shape[1]
    if per_call == 1:
        return got_ns[:, 0] - asked_ns[:, 0]
    steps_left = np.arange(per_call, 0, -1)
    each_ns = np.maximum(0.0, np.min((end_ns[:, None] - got_ns) / steps_left, axis=1))
    wait_ns, free_ns = np.zeros(len(end_ns)), asked_ns[:, 0].astype(np.float64)
    for asked, got in zip(asked_ns.T, got_ns.T, strict=True):
        wait_ns += np.maximum(0.0, got - np.maximum(free_ns, asked))
        free_ns = np.maximum(free_ns, got) + each_ns
    return wait_ns.astype(np.int64)
