"""Real Trainers, fitted for a few batches without a callback of ours: only the joints are wrapped."""

import lightning.pytorch as pl
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from feedwatch.hooks.destination import Destination
from feedwatch.hooks.lightning.loops import Loops
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.loader import TrainLoaders
from feedwatch.measure.marks import ENTER, EPOCH, EPOCH_END, LEAVE, LOADER_START, VALIDATION
from feedwatch.measure.steps import StepReader
from feedwatch.model.report import Status
from feedwatch.settings import Settings
from tests.fakes.values import run_facts

pytestmark = pytest.mark.filterwarnings("ignore")


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def training_step(self, batch, index):
        return self.layer(batch[0]).sum()

    def validation_step(self, batch, index): ...

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def train_dataloader(self):
        return loader()


class Setting(pl.Callback):
    """Installs the loops where our own callback does."""

    def __init__(self, run):
        self.run = run
        self.missing, self.epochs, self.validations = [], [], []
        self.loaders = TrainLoaders(run.session)

    def setup(self, trainer, pl_module, stage):
        self.loops = Loops(self.run, self.loaders, None, self.missing.append)
        self.loops.on_epoch = self.epochs.append
        self.loops.before_validation = lambda: self.validations.append("in")
        self.loops.after_validation = lambda: self.validations.append("out")
        self.loops.install(trainer)

    def teardown(self, trainer, pl_module, stage):
        self.run.undo.all()


def loader(batches=3):
    return DataLoader(TensorDataset(torch.zeros(batches * 2, 2)), batch_size=2)


@pytest.fixture
def run():
    facts = run_facts(framework="lightning", backend="torch")
    made = WatchedRun(facts, Settings(console=False), Destination(None, ()), StepReader())
    yield made
    made.close(Status.FINISHED)


def fit(setting, tmp_path, val=None, **more):
    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=2,
        callbacks=[setting],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        default_root_dir=tmp_path,
        **more,
    )
    trainer.fit(Model(), val_dataloaders=val)
    return trainer


def test_epochs_and_the_loaders_start_are_marked(run, tmp_path):
    setting = Setting(run)
    fit(setting, tmp_path)
    marks = [(what, detail) for _, what, detail in run.marks.rows]

    assert [mark for mark in marks if mark[0] in (EPOCH, EPOCH_END)] == [
        (EPOCH, (0, 0)),
        (EPOCH_END, None),
        (EPOCH, (1, 3)),
        (EPOCH_END, None),
    ]
    assert marks.count((ENTER, LOADER_START)) == marks.count((LEAVE, LOADER_START)) >= 3
    assert setting.epochs == [0, 3]
    assert setting.missing == []


def test_validation_is_marked_and_told(run, tmp_path):
    setting = Setting(run)
    fit(setting, tmp_path, val=loader(1))
    marks = [(what, detail) for _, what, detail in run.marks.rows]

    assert marks.count((ENTER, VALIDATION)) == marks.count((LEAVE, VALIDATION)) == 2
    assert setting.validations == ["in", "out"] * 2


def test_the_training_loader_and_one_batch_are_looked_at_and_the_others_are_not(run, tmp_path):
    setting = Setting(run)
    fit(setting, tmp_path, val=DataLoader(TensorDataset(torch.zeros(10, 2)), batch_size=10))
    facts = setting.loaders.read()

    assert setting.loaders.batch_size == facts["run"].batch_size == 2
    assert facts["batch"].size_bytes == 2 * 2 * 4
    assert facts["batch"].non_blocking is True


def test_a_reloaded_loader_replaces_the_one_before(run, tmp_path):
    setting = Setting(run)
    fit(setting, tmp_path, reload_dataloaders_every_n_epochs=1)
    assert len(setting.loaders._loaders) == 1


def test_everything_is_taken_back(run, tmp_path):
    trainer = fit(Setting(run), tmp_path)
    epoch = trainer.fit_loop.epoch_loop
    owners = [trainer.fit_loop, epoch, epoch.val_loop, trainer.strategy]
    ours = {"run", "on_run_start", "setup_data", "process_dataloader", "batch_to_device"}
    assert [ours & set(vars(owner)) for owner in owners] == [set()] * 4
