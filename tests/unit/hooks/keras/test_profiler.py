"""Which profiler a backend has, and whose windows it must keep out of. The profilers themselves: tests/contract."""

from pathlib import Path

import pytest

keras = pytest.importorskip("keras")

from feedwatch.errors import TraceError  # noqa: E402
from feedwatch.hooks.keras.profiler import (  # noqa: E402
    JaxProfiler,
    TensorFlowProfiler,
    XSpaceFolder,
    keras_profiler,
    tensorboard_profiling,
)


def tensorboard(tmp_path, profile_batch):
    made = keras.callbacks.TensorBoard(str(tmp_path), profile_batch=profile_batch)
    made._global_train_batch, made._is_tracing = 0, False
    return made


def test_every_backend_has_its_own_profiler():
    assert isinstance(keras_profiler("tensorflow", list), TensorFlowProfiler)
    assert isinstance(keras_profiler("jax", list), JaxProfiler)
    assert keras_profiler("abacus", list) is None


def test_a_tensorboard_callback_keeps_ours_away_until_its_trace_is_whole(tmp_path):
    theirs = tensorboard(tmp_path, (5, 8))
    assert tensorboard_profiling([keras.callbacks.History(), theirs]).startswith("TensorBoard(")
    theirs._global_train_batch, theirs._is_tracing = 8, True
    assert tensorboard_profiling([theirs]) is not None
    theirs._is_tracing = False
    assert tensorboard_profiling([theirs]) is None


def test_one_that_does_not_trace_is_in_nobodys_way(tmp_path):
    assert tensorboard_profiling([tensorboard(tmp_path, 0)]) is None


def test_ours_is_refused_while_theirs_is_on_its_way(tmp_path):
    profiler = keras_profiler("tensorflow", lambda: [tensorboard(tmp_path, (5, 8))])
    assert profiler.other_active().startswith("TensorBoard(")


def test_a_window_without_a_trace_is_an_error_and_leaves_no_folder():
    folder = XSpaceFolder()
    assert Path(folder.path).is_dir()
    with pytest.raises(TraceError, match="no trace"):
        folder.read()
    assert not Path(folder.path).exists()
