"""Input, copy and compute against the workload's own stopwatch, whatever else happens between the steps.

The workload measures itself, and every step is compared with its own truth, so the truth stays the truth on a busy
machine: what interrupts a step between two stopwatches is in that step alone.
"""

import time
import warnings
from collections import defaultdict
from statistics import median

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from feedwatch.lightning import FeedWatch
from feedwatch.model.steps import StepKind
from tests.contract.records import kept_records

pytestmark = pytest.mark.alone

STEPS = 40


class Watch(FeedWatch):
    def _open(self, trainer):
        super()._open(trainer)
        self.session = self._run.session
        self.records = kept_records(self.session)


class Stopwatch:
    def __init__(self):
        self.spent_ms = defaultdict(list)

    def take(self, what, ms):
        began = time.perf_counter()
        time.sleep(ms / 1000)
        self.spent_ms[what].append((time.perf_counter() - began) * 1000)


class SlowItems(Dataset):
    def __init__(self, stopwatch):
        self.stopwatch = stopwatch

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        self.stopwatch.take("input", 6 + index % 3)
        return torch.rand(4, 6)


def build(pl, stopwatch):
    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(6, 1)

        def optimizer_step(self, *args, **kwargs):
            # Lightning runs the whole step (forward, backward, update) in here.
            began = time.perf_counter()
            super().optimizer_step(*args, **kwargs)
            stopwatch.spent_ms["compute"].append((time.perf_counter() - began) * 1000)

        def training_step(self, batch, index):
            time.sleep(0.009)
            loss = self.layer(batch).mean()
            self.log("loss", loss, prog_bar=True)
            return loss

        def validation_step(self, batch, index):
            time.sleep(0.003)

        def transfer_batch_to_device(self, batch, device, dataloader_idx):
            if self.trainer.training:
                stopwatch.take("copy", 3)
            return batch

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    class SlowCallback(pl.Callback):
        def on_train_batch_start(self, *_):
            stopwatch.take("callback", 4)

        def on_train_batch_end(self, *_):
            stopwatch.take("callback", 5)

    return Model(), SlowCallback()


CASES = {
    "plain": set(),
    "slow_callback": {"callback"},
    "validation": {"validation"},
    "checkpoint": {"checkpoint"},
    "logger": {"logger"},
    "all_together": {"callback", "validation", "checkpoint", "logger"},
}


@pytest.mark.parametrize("name", CASES)
def test_phases_are_within_three_per_cent_and_half_a_millisecond(name, tmp_path, pl):
    wanted, stopwatch = CASES[name], Stopwatch()
    model, slow_callback = build(pl, stopwatch)
    watch = Watch(tmp_path, console=False)
    callbacks = [watch, slow_callback] if "callback" in wanted else [watch]
    if "checkpoint" in wanted:
        callbacks.append(pl.callbacks.ModelCheckpoint(tmp_path, every_n_train_steps=4, save_top_k=-1))
    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=1,
        callbacks=callbacks,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing="checkpoint" in wanted,
        logger=pl.loggers.CSVLogger(tmp_path, flush_logs_every_n_steps=5) if "logger" in wanted else False,
        log_every_n_steps=1,
        num_sanity_val_steps=0,
        val_check_interval=10 if "validation" in wanted else None,
    )
    val = DataLoader([torch.rand(4, 6)] * 3, batch_size=None) if "validation" in wanted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.fit(model, DataLoader(SlowItems(stopwatch), batch_size=None), val)

    report, session = watch.report, watch.session
    steady = [record for record in watch.records if record.kind is StepKind.STEADY]
    assert report.steps.measured == len(steady) == STEPS - 3  # three warm-up steps
    for phase, what in (("input_wait", "input"), ("h2d", "copy"), ("compute", "compute")):
        truth_ms = stopwatch.spent_ms[what]
        said_ms = {record.step: getattr(record, f"{phase}_ns") / 1e6 for record in steady}
        off_ms = median(ms - truth_ms[step - 1] for step, ms in said_ms.items())
        assert abs(off_ms) <= 0.03 * median(truth_ms) + 0.5, phase
        assert report.phases[phase].ms == pytest.approx(median(said_ms.values()), rel=0.02)  # of a sketch
    if "callback" in wanted:
        times = {each.name: each.ms_per_step for each in session.facts.callbacks}
        taken = stopwatch.spent_ms["callback"]
        per_step = sorted(start + end for start, end in zip(taken[::2], taken[1::2], strict=True))[:-1]
        truth_ms = sum(per_step) / len(per_step)  # without the dearest step, as the report says it
        assert abs(times["SlowCallback"] - truth_ms) <= 0.03 * truth_ms + 0.5
