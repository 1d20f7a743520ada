"""What is said where there is nothing to change."""

from dataclasses import replace

import pytest

from feedwatch.model.report import ModelSection
from feedwatch.model.verdict import Bound
from feedwatch.report.json import from_json
from feedwatch.report.silence import NO_RULE, NO_VERDICT, NOTHING, model_note, words_without_findings
from tests.fakes.reports import report
from tests.tab import reports


def silent(bound, model=None):
    bare = report()
    return replace(bare, findings=(), model=model, verdict=replace(bare.verdict, bound=bound))


@pytest.mark.parametrize(
    ("bound", "said"),
    [(Bound.COMPUTE, NOTHING), (Bound.UNKNOWN, NO_VERDICT), (Bound.INPUT, NO_RULE), (Bound.HOST, NO_RULE)],
)
def test_each_verdict_has_its_words(bound, said):
    assert words_without_findings(silent(bound)) == (said,)


def test_a_model_that_does_not_explain_the_run_has_compared_nothing():
    off = ModelSection(explains=False, error=2.0, note="the model is off")
    assert words_without_findings(silent(Bound.INPUT, off)) == ("The model is off.",)
    fine = ModelSection(explains=True, error=1.0, note="every change gains less")
    assert words_without_findings(silent(Bound.INPUT, fine)) == (NO_RULE, "Every change gains less.")


def test_where_there_is_a_finding_only_the_note_about_the_model_is_said():
    full = replace(from_json(reports.workers2()), model=ModelSection(explains=False, error=2.0, note="off"))
    assert words_without_findings(full) == ()
    assert model_note(full) == ("Off.",)
