"""Fit's own objects: found in the frames above, set and taken back."""

import gc
import sys
import weakref

import pytest

pytest.importorskip("keras")

from feedwatch.hooks.keras.fit import Fit, fits_above, time_iterators
from feedwatch.hooks.undo import Undo


class EpochIterator:
    def __init__(self, data):
        self.data = data

    def _get_iterator(self):
        return self.data


def test_the_iterators_of_an_epoch_are_started_by_us_until_it_is_taken_back():
    undo, owner, started = Undo(), EpochIterator([1, 2]), []
    time_iterators(undo, owner, lambda iterable: (started.append(iterable), iter(iterable))[1])
    assert list(owner._get_iterator()) == [1, 2]
    assert started == [[1, 2]]
    undo.all()
    assert vars(owner) == {"data": [1, 2]}


def test_somebody_elses_replacement_goes_on_working_and_is_left_in_place():
    undo, owner = Undo(), EpochIterator([1])
    theirs = owner._get_iterator = lambda: [5, 6]
    time_iterators(undo, owner, iter)
    assert list(owner._get_iterator()) == [5, 6]
    undo.all()
    assert owner._get_iterator is theirs


def test_an_epoch_iterator_dies_with_fit_although_we_looked_at_it():
    undo, owner = Undo(), EpochIterator([1])
    time_iterators(undo, owner, iter)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_the_fit_is_found_in_the_frames_above_and_a_nested_one_before_it():
    class Callbacks:
        def __init__(self, *callbacks):
            self.callbacks = list(callbacks)

    ours, found = object(), []

    def fit(callbacks, epoch_iterator, inner=None):
        if inner is None:
            found.extend(fits_above(ours))
        else:
            inner()

    outer, nested = Callbacks(ours), Callbacks(ours)
    iterator = EpochIterator([])
    fit(outer, iterator, lambda: fit(nested, None))
    assert [each.callback_list for each in found] == [nested, outer]
    assert [each.epoch_iterator for each in found] == [None, iterator]
    found.clear()
    fit(Callbacks(object()), iterator)
    assert found == []


def test_a_list_that_the_user_handed_in_is_known():
    handed = object()

    def error_handler(*args, **kwargs):
        return fit(*args, **kwargs)

    def fit(callbacks=None):
        return Fit(None, handed, sys._getframe()).list_is_the_users

    assert error_handler(callbacks=handed)
    assert not error_handler(callbacks=[object()])
