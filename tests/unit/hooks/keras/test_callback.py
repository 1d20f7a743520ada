"""Construction: wrong settings raise there, nothing is alive before a fit."""

import copy
import pickle

import pytest

keras = pytest.importorskip("keras")

from feedwatch.errors import SettingError  # noqa: E402
from feedwatch.keras import FeedWatch  # noqa: E402


def test_a_log_dir_that_cannot_be_made_raises_at_construction(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="cannot be made"):
        FeedWatch(tmp_path / "file" / "run")


def test_a_remote_log_dir_raises_at_construction():
    with pytest.raises(SettingError, match="local directory"):
        FeedWatch("gs://bucket/run")


def test_wrong_settings_raise_at_construction(tmp_path):
    with pytest.raises(SettingError, match="profile"):
        FeedWatch(tmp_path, profile="always")


def test_copies_carry_the_settings(tmp_path):
    ours = FeedWatch(tmp_path, console=False)
    for twin in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert twin.log_dir == tmp_path
        assert twin.report is None


def test_asynchronous_dispatch_is_kept():
    assert FeedWatch.async_safe is True


def test_hooks_before_a_fit_do_nothing(tmp_path):
    ours = FeedWatch(tmp_path)
    ours.on_train_batch_begin(0)
    ours.on_train_batch_end(0)
    ours.on_epoch_begin(0)
    ours.on_epoch_end(0)
    ours.on_train_end()
    assert ours.report is None


def test_the_kill_switch_makes_no_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", "0")
    ours = FeedWatch(tmp_path / "run")
    ours.on_train_begin()
    assert not (tmp_path / "run").exists()


def test_keras_2_trains_on_and_one_sentence_says_that_it_is_not_measured(tmp_path):
    """Its loop asks callbacks for names that Keras 3 does not have."""
    tf_keras = pytest.importorskip("tf_keras")
    import numpy as np

    model = tf_keras.Sequential([tf_keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    watch, data = FeedWatch(tmp_path, console=False), np.zeros((8, 3))
    with pytest.warns(UserWarning, match="Keras 2") as said:
        model.fit(data, data[:, :1], epochs=2, validation_split=0.5, verbose=0, callbacks=[watch])
        model.evaluate(data, data[:, :1], verbose=0, callbacks=[watch])
        model.predict(data, verbose=0, callbacks=[watch])
    assert sum("Keras 2" in str(each.message) for each in said) == 1
    assert watch.report is None


def test_evaluate_and_predict_alone_say_that_they_are_not_measured(tmp_path):
    import numpy as np

    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    watch, data = FeedWatch(tmp_path, console=False), np.zeros((8, 3))
    with pytest.warns(UserWarning, match="only fit is measured") as said:
        model.evaluate(data, data[:, :1], verbose=0, callbacks=[watch])
        model.predict(data, verbose=0, callbacks=[watch])
    assert sum("only fit" in str(each.message) for each in said) == 1
    assert watch.report is None
