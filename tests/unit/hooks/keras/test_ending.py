"""How the end of a fit is learnt without an end hook. Errors pass as they are."""

import gc
import sys
from contextlib import contextmanager, suppress

import pytest

pytest.importorskip("keras")

from feedwatch.hooks.keras import ending
from feedwatch.hooks.undo import Undo
from feedwatch.model.report import Status


class Epochs:
    """Swallows StopIteration, as Keras' own context manager of an epoch does."""

    @contextmanager
    def catch_stop_iteration(self):
        with suppress(StopIteration):
            yield


class Callbacks:
    error = None

    def on_epoch_end(self, epoch):
        if self.error is not None:
            raise self.error
        return epoch


@pytest.fixture
def told():
    return []


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("own"), Status.FAILED), (KeyboardInterrupt(), Status.INTERRUPTED)]
)
def test_an_error_that_leaves_an_epoch_is_told_and_is_the_same_object(error, status, told):
    undo, epochs = Undo(), Epochs()
    ending.observe_epochs(undo, epochs, told.append)
    with pytest.raises(type(error)) as raised, epochs.catch_stop_iteration():
        raise error
    assert raised.value is error
    assert told == [status]
    undo.all()
    assert vars(epochs) == {}


def test_the_end_of_the_data_is_no_error(told):
    epochs = Epochs()
    ending.observe_epochs(Undo(), epochs, told.append)
    with epochs.catch_stop_iteration():
        raise StopIteration
    with epochs.catch_stop_iteration():
        pass
    assert told == []


def test_an_error_of_a_callback_is_told_and_passes(told):
    undo, callbacks = Undo(), Callbacks()
    ending.observe_callbacks(undo, callbacks, ["on_epoch_end"], told.append)
    callbacks.on_epoch_end(1)
    assert told == []
    callbacks.error = RuntimeError("own")
    with pytest.raises(RuntimeError) as raised:
        callbacks.on_epoch_end(2)
    assert raised.value is callbacks.error
    assert told == [Status.FAILED]
    undo.all()
    assert "on_epoch_end" not in vars(callbacks)


def test_only_an_error_of_fits_own_step_ends_the_run(told):
    class Model:
        @staticmethod
        def _step(fails):
            if fails:
                raise ZeroDivisionError
            return "trained"

        def __init__(self):
            self.train_function = self._step

    model, undo = Model(), Undo()

    def fit():
        ending.observe_train_function(undo, model, sys._getframe(), told.append)
        assert model.train_function(False) == "trained"
        train_on_batch()
        assert told == []
        model.train_function(True)

    def train_on_batch():
        with pytest.raises(ZeroDivisionError):
            model.train_function(True)

    plain = model.train_function
    with pytest.raises(ZeroDivisionError):
        fit()
    assert told == [Status.FAILED]
    undo.all()
    assert model.train_function is plain


def test_the_death_of_fits_callback_list_is_the_last_sign(told):
    callbacks = Callbacks()
    watched = ending.when_released(callbacks, told.append)
    assert watched() is callbacks
    del callbacks
    gc.collect()
    assert told == [Status.INTERRUPTED]
