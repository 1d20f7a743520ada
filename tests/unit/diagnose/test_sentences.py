"""The verdict in words."""

import pytest

from feedwatch.diagnose.sentences import describe
from feedwatch.diagnose.shares import shares
from feedwatch.model.facts import DeviceFacts
from feedwatch.model.pipeline import PipelineFacts, Stage
from feedwatch.model.verdict import Bound
from tests.fakes.values import facts, run_facts
from tests.rules.build import EPOCHS, account, window

GPU = run_facts(device="cuda:0", device_kind="cuda", backend="torch")


def said(bound, run, known=None):
    known = known or facts()
    whole = account(run, EPOCHS)
    return describe(bound, shares(run, known, whole), run, known, whole)


@pytest.mark.parametrize("bound", Bound)
def test_every_bound_has_a_title_and_a_detail_in_whole_sentences(bound):
    title, detail = said(bound, window(100, 60, starved_ms=60))
    assert title[0].isupper()
    assert not title.endswith(".")
    assert detail.endswith(".")
    assert "None" not in title + detail


def test_only_what_was_seen_is_said_to_wait():
    run = window(100, 60)
    assert said(Bound.INPUT, run)[0].startswith("Training waits")
    assert said(Bound.INPUT, run, facts(run=GPU))[0].startswith("The training loop waits")
    assert said(Bound.INPUT, window(100, 60, starved_ms=60), facts(run=GPU))[0].startswith("The GPU waits")


def test_the_slowest_stage_is_named():
    stages = (Stage("Map", "decode (train.py:31)", ms_per_batch=40.0, bottleneck=True), Stage("Batch"))
    detail = said(Bound.INPUT, window(100, 60), facts(pipeline=PipelineFacts("tf.data", stages=stages)))[1]
    assert "slowest part of the pipeline is Map (decode (train.py:31))" in detail


@pytest.mark.parametrize("bound", [Bound.INPUT, Bound.COMPUTE, Bound.HOST])
def test_the_times_in_a_sentence_are_means(bound):
    detail = said(bound, window(100, 60, compute_median_ms=5.0))[1]
    assert "on average" in detail
    assert "median" not in detail


@pytest.mark.parametrize(
    ("busy", "title"),
    [
        (0.2, "Input is not the limit; the device is busy 20 % of the time (NVML)"),
        (0.9, "Input is not the limit: training is busy computing"),
        (None, "Input is not the limit: training is busy computing"),
    ],
)
def test_a_device_that_idles_by_nvml_is_not_called_busy(busy, title):
    known = facts(run=GPU, device=DeviceFacts(utilisation=busy))
    assert said(Bound.COMPUTE, window(100, 1, starved_ms=1), known)[0] == title
