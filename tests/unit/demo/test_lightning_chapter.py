"""The Lightning chapter's loader as written and with the fix. tests/contract/test_demo.py trains."""

from dataclasses import replace

import pytest

pytest.importorskip("lightning")

from feedwatch.demo.lightning_chapter import BATCH, PHOTOS, LightningChapter
from feedwatch.demo.photos import SIDE
from feedwatch.model.verdict import Finding, Fix

FINDING = Finding("FW101", "loader-without-workers", "", "", {"workers_advised": 2.0}, Fix("", ""), None)


@pytest.fixture(scope="module")
def chapter():
    return LightningChapter(epochs=2)


def test_as_written_the_loader_has_no_workers(chapter):
    loader = chapter.loader(None)
    assert loader.num_workers == 0
    photos, labels = next(iter(loader))
    assert photos.shape == (BATCH, 3, SIDE, SIDE)
    assert labels.shape == (BATCH,)


def test_the_fix_is_applied_in_the_findings_own_numbers(chapter):
    loader = chapter.loader(FINDING)
    assert (loader.num_workers, loader.persistent_workers) == (2, True)


def test_another_finding_changes_nothing(chapter):
    assert chapter.loader(replace(FINDING, code="FW104")).num_workers == 0


def test_the_progress_bar_knows_the_number_of_steps(chapter):
    assert chapter.steps == 2 * PHOTOS // BATCH
