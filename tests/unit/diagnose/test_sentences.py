"""The verdict in words."""

import pytest

from feedwatch.diagnose.sentences import describe
from feedwatch.diagnose.shares import shares
from feedwatch.model.pipeline import PipelineFacts, Stage
from feedwatch.model.verdict import Bound
from tests.fakes.values import facts, run_facts
from tests.rules.build import window

GPU = run_facts(device="cuda:0", device_kind="cuda", backend="torch")


def said(bound, run, known=None):
    known = known or facts()
    return describe(bound, shares(run, known), run, known)


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
