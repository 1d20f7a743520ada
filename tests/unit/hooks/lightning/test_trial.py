"""Who is muted. Trials of real fits are in tests/contract/test_trials.py."""

import types

import pytest

pl = pytest.importorskip("lightning.pytorch")

from feedwatch.hooks.lightning.trial import ENDS, StepsOnly, mute  # noqa: E402


class Own(pl.Callback):
    def __init__(self):
        self.heard = []

    def on_train_batch_end(self, *args):
        self.heard.append(args)

    def on_train_epoch_end(self, *args):
        raise AssertionError("it would write")


def test_checkpoints_and_loggers_hear_nothing_and_the_users_own_callbacks_of_steps_only(tmp_path):
    ours, own = object(), Own()
    callbacks = [ours, pl.callbacks.ModelCheckpoint(tmp_path), pl.callbacks.TQDMProgressBar(), own]
    trainer = types.SimpleNamespace(callbacks=callbacks, loggers=[pl.loggers.CSVLogger(tmp_path)])
    mute(trainer, ours)
    first, second = trainer.callbacks
    assert first is ours
    assert isinstance(second, StepsOnly)
    assert second.state_key == own.state_key
    second.on_train_batch_end(1)
    assert own.heard == [(1,)]
    for name in ENDS:
        getattr(second, name)(trainer)
    (logger,) = trainer.loggers
    logger.log_metrics({"loss": 1.0}, step=1)
    logger.experiment.add_image("a", 1)
    assert list(tmp_path.iterdir()) == []
