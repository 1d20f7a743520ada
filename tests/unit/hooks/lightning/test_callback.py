import copy
import gc
import pickle
import time
import weakref

import lightning.pytorch
import pytest
import pytorch_lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

from feedwatch.errors import SettingError
from feedwatch.hooks.lightning.callback import being_called_ns, callback_bases, status_of
from feedwatch.lightning import FeedWatch
from feedwatch.model.report import Status
from tests.fakes.clock import FakeClock


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


def test_what_being_called_costs_is_a_cost_of_ours():
    clock = FakeClock()

    class Slowly(lightning.pytorch.Callback):
        def on_before_zero_grad(self, *_):
            clock.advance_ms(0.002)

    assert being_called_ns(Slowly(), clock.now_ns) == 2000
    # A real clock, and the callback that is really called: some microseconds, not some milliseconds.
    assert 0 < being_called_ns(FeedWatch(console=False), time.perf_counter_ns) < 1_000_000


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


class Model(lightning.pytorch.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch, index):
        return self.layer(batch[0]).sum()

    def validation_step(self, batch, index): ...

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fitted(watch, tmp_path, batches=8):
    """Weak references to what a fit was made of."""
    trainer = lightning.pytorch.Trainer(
        accelerator="cpu",
        max_epochs=2,
        callbacks=[watch],
        logger=False,
        profiler="simple",
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    model, loader, val_loader = (
        Model(),
        *(DataLoader(TensorDataset(torch.zeros(2 * batches, 2)), batch_size=2) for _ in range(2)),
    )
    trainer.fit(model, loader, val_loader)
    return [weakref.ref(each) for each in (trainer, model, loader, trainer.profiler)]


@pytest.mark.filterwarnings("ignore")
def test_nothing_of_ours_keeps_a_trainer_a_model_or_a_loader_alive(tmp_path):
    watch = FeedWatch(tmp_path, console=False)
    parts = fitted(watch, tmp_path)
    for lent in ("log", "log_dict"):  # the model's own methods, which Lightning gives to every callback
        vars(watch).pop(lent, None)
    gc.collect()

    assert [part() for part in parts] == [None] * 4
    assert watch.report.steps.batches == 16
