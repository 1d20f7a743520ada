"""The same steps, bit-identical weights, the same next random draw, the same exception, nothing left behind."""

import os
import warnings

import pytest
import torch

from feedwatch.lightning import FeedWatch
from feedwatch.model.report import Status
from tests.contract.lightning.cases import CASES
from tests.contract.lightning.conftest import FLAVOURS
from tests.contract.lightning.fitting import fit, left_behind
from tests.contract.lightning.rows import ROWS, WARM_UP_ONLY

RUNS = [
    pytest.param(flavour, name, id=f"{name}-{flavour}", marks=[pytest.mark.slow] if CASES[name].slow else [])
    for name in sorted(ROWS)
    for flavour in FLAVOURS
    # Starting interpreters takes seconds and has nothing to do with the import name.
    if not (CASES[name].slow and flavour == "pytorch_lightning")
]


def test_the_table_has_the_rows_that_are_written_down():
    assert set(CASES) == ROWS


@pytest.mark.parametrize(("flavour", "name"), RUNS)
def test_a_watched_fit_does_what_a_bare_one_does(flavour, name, tmp_path):
    case, pl = CASES[name], FLAVOURS[flavour]
    watchers = [FeedWatch(console=False) for _ in range(case.watchers)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bare = fit(case, pl, tmp_path / "bare", [])
        if os.environ.get("FEEDWATCH_MATRIX") and (bare.error is None) != (case.raises is None):
            pytest.skip(f"without feedwatch, too, Lightning {pl.__version__} does something else: {bare.error!r}")
        watched = fit(case, pl, tmp_path / "watched", watchers)

    assert watched.trained == bare.trained > 0
    for weight, expected in bare.weights.items():
        assert torch.equal(watched.weights[weight], expected)
    assert watched.next_draws == bare.next_draws
    assert type(watched.error) is type(bare.error)
    assert (case.raises is None) == (watched.error is None)
    if case.raises is not None:
        assert isinstance(watched.error, case.raises)
        assert str(watched.error).splitlines()[:1] == str(bare.error).splitlines()[:1]
    assert left_behind(watched.trainer) == []
    assert getattr(watched.data, "collate_fn", None) is watched.collate

    report = watchers[0].report
    assert report is not None
    assert report.steps.batches == watched.trained * case.batches_per_step // case.fits
    assert report.steps.dropped == 0
    assert (report.steps.measured > 0) == (name not in WARM_UP_ONLY)
    assert (report.phases["input_wait"] is not None) == (name not in WARM_UP_ONLY)
    assert report.status is expected_status(case)
    assert [each.report for each in watchers[1:]] == [None] * (case.watchers - 1)


def expected_status(case):
    if case.raises is None:
        return Status.FINISHED
    return Status.INTERRUPTED if case.raises is SystemExit else Status.FAILED
