"""Profiler windows inside a fit: training is the same, and a profiler of the user's is never disturbed."""

import warnings

import pytest
import torch

from feedwatch.lightning import FeedWatch
from tests.contract.lightning.cases import CASES, Case
from tests.contract.lightning.fitting import fit, left_behind
from tests.contract.lightning.models import loader

ROWS = {
    "plain": Case(lambda pl: loader(160), trainer={"max_epochs": 2}),
    "validation": Case(lambda pl: loader(160), trainer={"val_check_interval": 7}, val=True),
    "exception_in_step": CASES["exception_in_step"],
    "pytorch_profiler": Case(lambda pl: loader(160), profiler=CASES["pytorch_profiler"].profiler),
}


@pytest.mark.parametrize("name", ROWS)
def test_windows_change_nothing_and_leave_no_profiler_running(name, tmp_path, pl):
    case, watch = ROWS[name], FeedWatch(profile=True, console=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bare = fit(case, pl, tmp_path / "bare", [])
        watched = fit(case, pl, tmp_path / "watched", [watch])

    assert watched.trained == bare.trained
    for weight, expected in bare.weights.items():
        assert torch.equal(watched.weights[weight], expected)
    assert watched.next_draws == bare.next_draws
    assert left_behind(watched.trainer) == []
    assert not torch.autograd._profiler_enabled()
    if name == "pytorch_profiler":
        assert any("PyTorchProfiler" in note or "torch profiler" in note for note in watch.report.self_cost.notes)
