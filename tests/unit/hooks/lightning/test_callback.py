import copy
import pickle

import lightning.pytorch
import pytest
import pytorch_lightning

from feedwatch.errors import SettingError
from feedwatch.hooks.lightning.callback import callback_bases, status_of
from feedwatch.lightning import FeedWatch
from feedwatch.model.report import Status


def test_it_is_a_callback_of_every_package_that_is_imported():
    assert callback_bases() == (lightning.pytorch.Callback, pytorch_lightning.Callback)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KeyboardInterrupt(), Status.INTERRUPTED),
        (SystemExit(), Status.INTERRUPTED),
        (type("SIGTERMException", (Exception,), {})(), Status.INTERRUPTED),
        (RuntimeError(), Status.FAILED),
    ],
)
def test_ctrl_c_and_sigterm_interrupt_and_everything_else_fails(error, status):
    assert status_of(error) is status


def test_nothing_is_alive_or_known_before_a_fit(tmp_path):
    watch = FeedWatch(tmp_path)
    assert (watch.report, watch.log_dir) == (None, None)
    watch.teardown(None, None, "fit")
    watch.on_train_batch_end(None, None, None, None, 0)
    watch.on_before_backward(None, None, None)


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_carries_the_settings(twin, tmp_path):
    watch = twin(FeedWatch(tmp_path, profile=False, console=False))
    assert type(watch) is FeedWatch
    assert (watch._settings.profile, watch._settings.console, watch._explicit_dir) == (False, False, tmp_path)


@pytest.mark.parametrize("wrong", [{"profile": "always"}, {"console": 1}, {"log_dir": "gs://bucket"}])
def test_wrong_settings_raise_at_construction(wrong):
    with pytest.raises(SettingError):
        FeedWatch(**wrong)
