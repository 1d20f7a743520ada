"""What goes wrong around a Keras fit: each row tells what happened, the test asserts it. Played by zygote.py, which has
chosen the backend.
"""

import contextlib
import copy
import gc
import json
import os
import pickle
import tempfile
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import keras
import numpy as np

from feedwatch.keras import FeedWatch
from feedwatch.report.json import REPORT_FILE

TENSORFLOW = keras.backend.backend() == "tensorflow"
X = np.random.default_rng(0).random((64, 8)).astype("float32")
Y = X[:, :1]
ROWS = {}
NOT_STRICT = ("each_hook_of_ours_fails_in_turn", "stamps_do_not_pile_up_when_we_are_switched_off")


def row(function):
    ROWS[function.__name__] = function
    return function


def tensorflow_row(function):
    return row(function) if TENSORFLOW else function


def model():
    keras.utils.set_random_seed(3)
    made = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def watch():
    return FeedWatch(tempfile.mkdtemp(), console=False)


def batches(count, error=None):
    for _ in range(count):
        yield X[:8], Y[:8]
    if error is not None:
        raise error


class Raises(keras.callbacks.Callback):
    async_safe = True

    def __init__(self, error):
        super().__init__()
        self.error = error

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 4:
            raise self.error


def weights(made):
    return b"".join(np.asarray(part).tobytes() for part in made.get_weights()).hex()


def outcome(ours, caught=None):
    gc.collect()
    file = Path(ours.log_dir) / "feedwatch" / REPORT_FILE
    # On torch and JAX a hook of the failed fit may still run on Keras' own thread, and holds fit's objects until then.
    for _ in range(100):
        if file.exists() and json.loads(file.read_text())["status"] != "running":
            break
        time.sleep(0.1)
    on_disk = json.loads(file.read_text())
    return {
        "status": ours.report.status.value,
        "on_disk": on_disk["status"],
        "caught": type(caught).__name__ if caught is not None else None,
        "batches": ours.report.steps.batches,
    }


def next_fit_works(made, ours):
    made.fit(X, Y, verbose=0, callbacks=[ours])
    return ours.report.status.value == "finished" and ours.report.steps.batches == 2


def fails_with(error, made=None, next_fit=True, **arguments):
    """Read while the error, and with it fit's whole frame, is still held, as in a notebook or by pytest."""
    made, ours = made or model(), watch()
    try:
        made.fit(verbose=0, callbacks=[ours, *arguments.pop("callbacks", [])], **arguments)
    except BaseException as raised:
        caught = raised
    found = {**outcome(ours, caught), "same_object": caught is error}
    caught.__traceback__ = None
    return {**found, "next_fit": next_fit_works(made, ours)} if next_fit else found


class Broken(keras.Sequential):
    error, calls = None, 0

    def train_step(self, *arguments):
        self.calls += 1
        if self.calls > 6:
            raise self.error
        return super().train_step(*arguments)


@row
def the_model_raises():
    error = RuntimeError("the user's own")
    made = Broken([keras.Input((8,)), keras.layers.Dense(1)])
    made.error = error
    made.compile("sgd", "mse", run_eagerly=True)
    made.make_train_function()
    kept = made.train_function
    found = fails_with(error, made=made, x=X, y=Y, batch_size=8, next_fit=False)
    return {**found, "nothing_left": made.train_function is kept}


class CatchesItsOwn(keras.callbacks.Callback):
    """Trains on a batch of the wrong shape, and knows what to do."""

    async_safe = True

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 4:
            with contextlib.suppress(Exception):
                self.model.train_on_batch(X[:8, :3], Y[:8])


@row
def an_error_that_a_callback_catches_itself():
    ours = watch()
    model().fit(X, Y, batch_size=8, verbose=0, callbacks=[ours, CatchesItsOwn()])
    return outcome(ours)


@row
def an_error_at_epoch_end():
    error = RuntimeError("the user's own")

    class AtEpochEnd(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise error

    return fails_with(error, x=X, y=Y, batch_size=8, callbacks=[AtEpochEnd()])


@tensorflow_row
def the_dataset_raises():
    import tensorflow as tf

    def bad(index):
        if index > 5:
            raise ValueError("the user's own")
        return np.float32(index)

    def data():
        parts = tf.data.Dataset.range(20).map(lambda i: tf.ensure_shape(tf.numpy_function(bad, [i], tf.float32), []))
        return parts.map(lambda v: (tf.fill([8], v), tf.fill([1], v))).batch(1)

    plain = None
    try:
        model().fit(data(), verbose=0)
    except Exception as raised:
        plain = type(raised).__name__
    return {**fails_with(None, x=data()), "plain": plain}


@row
def data_that_ends_early():
    made, ours = model(), watch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.fit(batches(7), steps_per_epoch=20, epochs=1, verbose=0, callbacks=[ours])
    return outcome(ours)


@tensorflow_row
def empty_data():
    import tensorflow as tf

    def fit(callbacks):
        data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8).filter(lambda *_: False)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model().fit(data, verbose=0, callbacks=callbacks)
        except Exception as raised:
            return type(raised).__name__
        return "no error"

    ours = watch()
    return {"plain": fit([]), "watched": fit([ours]), **outcome(ours)}


class FitsAnother(keras.callbacks.Callback):
    async_safe = True

    def __init__(self, ours, error=None):
        super().__init__()
        self.ours, self.error = ours, error

    def on_epoch_end(self, epoch, logs=None):
        callbacks = [self.ours] if self.error is None else [self.ours, Raises(self.error)]
        with contextlib.suppress(RuntimeError):
            model().fit(X, Y, batch_size=8, verbose=0, callbacks=callbacks)


@row
def a_fit_nested_in_ours_with_a_callback_of_its_own():
    ours, inner = watch(), watch()
    model().fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=[ours, FitsAnother(inner)])
    return {**outcome(ours), "inner": outcome(inner)}


@row
def the_same_callback_in_a_nested_fit():
    ours = watch()
    model().fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=[ours, FitsAnother(ours)])
    return outcome(ours)


@row
def the_same_callback_in_a_nested_fit_that_raises():
    ours = watch()
    model().fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=[ours, FitsAnother(ours, RuntimeError("inner"))])
    return outcome(ours)


@row
def two_callbacks_in_one_fit():
    first, second = watch(), watch()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model().fit(X, Y, batch_size=8, verbose=0, callbacks=[first, second])
    ours = [str(warning.message) for warning in said if "feedwatch" in str(warning.message)]
    return {**outcome(first), "second": second.report is None, "said": ours}


@row
def two_fits_in_two_threads():
    pairs = [(model(), watch()) for _ in range(2)]

    def fit(made, ours):
        made.fit(X, Y, batch_size=8, epochs=3, verbose=0, callbacks=[ours])

    threads = [threading.Thread(target=fit, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"each": [outcome(ours) for _, ours in pairs]}


@row
def copies_of_the_callback_start_anew():
    class Copies(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.copies = [copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))]

    ours, copying = watch(), Copies()
    model().fit(X, Y, batch_size=8, verbose=0, callbacks=[ours, copying])
    found = []
    for twin in copying.copies:
        model().fit(X, Y, batch_size=8, verbose=0, callbacks=[twin])
        found.append(outcome(twin))
    return {**outcome(ours), "copies": found}


@row
def each_hook_of_ours_fails_in_turn():
    """F28: not strict here, as in production."""
    from feedwatch.hooks.keras.watched_fit import WatchedFit
    from feedwatch.hooks.run import WatchedRun

    plain = model()
    plain.fit(X, Y, batch_size=8, epochs=2, verbose=0)
    found = {}
    hooks = [(WatchedFit, name) for name in ("look", "epoch_begin", "epoch_end", "finish", "take_iterator")]
    for owner, name in [*hooks, (WatchedRun, "hand_over")]:
        kept = getattr(owner, name)

        def broken(*_, **__):
            raise ZeroDivisionError("planted")

        setattr(owner, name, broken)
        made, ours = model(), watch()
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                made.fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=[ours])
            told = sum("planted" in str(warning.message) for warning in said)
            found[name] = {"same": weights(made) == weights(plain), "told": told}
        finally:
            setattr(owner, name, kept)
    return {"hooks": found}


@tensorflow_row
def stamps_do_not_pile_up_when_we_are_switched_off():
    """The graph cannot be told to stop stamping."""
    from feedwatch.hooks.keras.watched_fit import WatchedFit

    class Waiting(keras.callbacks.Callback):
        most = 0

        def on_train_batch_begin(self, batch, logs=None):
            self.most = max(self.most, ours._fit.fetches.waiting())
            ours._fit._most = ours._fit.run.marks.most = 10

    found = {}
    for name in ("look", "hand_over"):
        kept = getattr(WatchedFit, name)

        def broken(*_, **__):
            raise ZeroDivisionError("planted")

        setattr(WatchedFit, name, broken)
        ours, waiting = watch(), Waiting()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model().fit(X, Y, batch_size=8, epochs=8, verbose=0, callbacks=[ours, waiting])
        finally:
            setattr(WatchedFit, name, kept)
        found[name] = waiting.most
    return {"waiting": found}


@row
def no_epoch_iterator_is_found():
    from feedwatch.hooks.keras import fit

    kept = fit.fits_above
    fit.fits_above = lambda callback: [each._replace(epoch_iterator=None) for each in kept(callback)]
    try:
        made, ours = model(), watch()
        original = made.make_train_function() or made.train_function
        made.fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=[ours])
    finally:
        fit.fits_above = kept
    report = ours.report
    return {
        **outcome(ours),
        "wait": report.phases["input_wait"] is not None,
        "notes": list(report.self_cost.notes),
        "untouched": made.train_function is original,
    }


def rows():
    return {name: partial(play, name) for name in ROWS}


def play(name):
    os.environ["FEEDWATCH_STRICT"] = "" if name in NOT_STRICT else "1"
    return ROWS[name]()
