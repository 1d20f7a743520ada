"""What changes from epoch to epoch, told from code that is never called."""

import functools
import random
import re
import time
import uuid

import numpy as np
import pytest

from feedwatch.hooks.python_code import changes_between_epochs, entry_points, mentions, names_in

RNG = np.random.default_rng(0)
TABLE = np.arange(8)


class RandomFlip:
    def __call__(self, value):
        return value


class Halve:
    def __call__(self, value):
        return value / 2


FLIP, HALVE = RandomFlip(), Halve()


def helper(value):
    return value * random.random()


def deeper(value):
    return helper(value) + 1


def clean(value):
    time.sleep(0)
    return np.sqrt(TABLE[value]).tolist()


class Data:
    def __init__(self, transform=None):
        self.transform = transform

    def __getitem__(self, index):
        value = self._read(index)
        return value if self.transform is None else self.transform(value)

    def _read(self, index):
        return index


class Drawing(Data):
    def _read(self, index):
        return index + self.rng.integers(9)


def shuffled_inside(values):
    def inner():
        random.shuffle(values)

    return inner()


CHANGING = [
    helper,
    deeper,
    shuffled_inside,
    lambda value: value + RNG.normal(),
    lambda value: FLIP(value) + 1,
    lambda value: value + time.time(),
    lambda _: uuid.uuid4().bytes,
    functools.partial(deeper, 3),
    np.random.permutation,
    Drawing().__getitem__,
    Drawing,
    lambda value: Drawing()[value],
    Data(FLIP).__getitem__,
    Data([HALVE, helper]).__getitem__,
    *entry_points(Data(functools.partial(helper))),
]
FIXED = [
    Data,
    clean,
    HALVE,
    Data().__getitem__,
    Data(HALVE).__getitem__,
    lambda i: HALVE(i) + 1,
    functools.partial(clean, 3),
]


@pytest.mark.parametrize("function", CHANGING)
def test_draws_and_clocks_are_found_through_helpers_closures_and_attributes(function):
    assert changes_between_epochs(function) is True


@pytest.mark.parametrize("function", FIXED)
def test_code_that_was_seen_and_draws_nothing_does_not_change(function):
    assert changes_between_epochs(function) is False


def test_a_closure_is_followed():
    inner = helper
    assert changes_between_epochs(lambda value: inner(value) + 1) is True


def test_code_that_cannot_be_seen_is_unknown():
    assert changes_between_epochs(abs) is None
    assert changes_between_epochs(range) is None
    assert changes_between_epochs(functools.partial(abs)) is None
    assert changes_between_epochs() is None


def test_one_that_changes_decides_and_one_unknown_leaves_it_open():
    assert changes_between_epochs(clean, abs, helper) is True
    assert changes_between_epochs(clean, abs) is None


def calling(inner):
    def outer(value):
        return inner(value)

    return outer


def chain(length):
    function = clean
    for _ in range(length):
        function = calling(function)
    return function


def test_code_too_deep_is_unknown_and_not_called_unchanging():
    assert changes_between_epochs(chain(3)) is False
    assert changes_between_epochs(chain(9)) is None


def test_any_name_can_be_looked_for():
    assert mentions(re.compile("^sqrt$"), chain(2)) is True
    assert mentions(re.compile("^cbrt$"), clean) is False
    assert mentions(re.compile("^sqrt$"), abs) is None


def test_names_of_functions_inside_are_named():
    assert {"shuffle", "random"} <= names_in(shuffled_inside.__code__)
