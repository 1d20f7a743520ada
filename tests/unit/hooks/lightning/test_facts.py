import lightning
import lightning.pytorch as pl
import pytest
import pytorch_lightning
from lightning.pytorch.demos.boring_classes import BoringModel, RandomDataset
from lightning.pytorch.profilers import SimpleProfiler
from torch.utils.data import DataLoader

from feedwatch.hooks.lightning.facts import name_of_sync, other_profiler, read_run_facts, validations_per_epoch
from feedwatch.measure.marks import COMPUTE, INPUT, OTHER

QUIET = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}


def trainer(package=pl, **more):
    return package.Trainer(accelerator="cpu", **QUIET, **more)


def test_a_trainer_on_a_cpu():
    facts = read_run_facts(trainer(precision="bf16-mixed"))
    assert (facts.framework, facts.backend, facts.version) == ("lightning", "torch", lightning.__version__)
    assert (facts.device, facts.device_kind, facts.device_id) == ("cpu", "cpu", None)
    assert (facts.rank, facts.world_size, facts.local_ranks, facts.precision) == (0, 1, 1, "bf16-mixed")


def test_the_version_is_that_of_the_trainers_own_package():
    assert read_run_facts(trainer(pytorch_lightning)).version == pytorch_lightning.__version__


def test_a_subclass_of_the_trainer_has_the_same_version():
    class Mine(pl.Trainer): ...

    assert read_run_facts(Mine(accelerator="cpu", **QUIET)).version == lightning.__version__


def test_only_a_profiler_that_drives_torchs_is_in_the_way():
    assert other_profiler(trainer()) is None
    assert other_profiler(trainer(profiler=SimpleProfiler())) is None
    assert other_profiler(trainer(profiler="pytorch")) == "PyTorchProfiler"


@pytest.mark.parametrize(
    ("place", "precision", "told"),
    [
        (None, "32-true", None),
        (INPUT, "32-true", None),
        (COMPUTE, "32-true", "training step"),
        (COMPUTE, "bf16-mixed", "training step"),
        (OTHER, "32-true", "a callback or logger"),
    ],
)
def test_a_synchronisation_is_named_after_the_place_where_the_host_waits(place, precision, told):
    name = name_of_sync(trainer(precision=precision), place)
    assert name is None if told is None else told in name


def test_the_gradient_scaler_is_named_with_16_bit_precision_only():
    class Scaled:
        precision = "16-mixed"

    assert "gradient scaler" in name_of_sync(Scaled(), COMPUTE)


@pytest.mark.parametrize(("interval", "times"), [(1.0, 1.0), (0.25, 4.0), (2, 4.0)])
def test_how_often_an_epoch_is_validated(interval, times, tmp_path):
    limits = {"max_epochs": 1, "limit_train_batches": 8, "limit_val_batches": 1, "num_sanity_val_steps": 0}
    its = trainer(val_check_interval=interval, default_root_dir=tmp_path, **limits)
    assert validations_per_epoch(its) is None
    loader = DataLoader(RandomDataset(32, 64), batch_size=4)
    its.fit(BoringModel(), loader, loader)
    assert validations_per_epoch(its) == times
