"""A rule and the finding it makes."""

from dataclasses import replace

import pytest

from feedwatch.advise.registry import rule
from feedwatch.advise.rule import no_gain
from feedwatch.model.verdict import Basis, Evidence, Gain
from tests.rules.build import case

GAIN = Gain(1.5, 2.0, Basis.PREDICTED, "")
TEMPLATES = replace(rule("FW101"), title="num_workers=$workers", before="old($x)", after="new($x)")


def test_a_finding_is_filled_with_the_blanks_of_its_evidence():
    found = TEMPLATES.finding(Evidence("why", {"load_ms": 3.0}, {"workers": "4", "x": "a"}), GAIN)
    assert (found.title, found.fix.before, found.fix.after) == ("num_workers=4", "old(a)", "new(a)")
    assert (found.code, found.why, found.evidence, found.gain) == ("FW101", "why", {"load_ms": 3.0}, GAIN)


def test_a_blank_that_stays_open_is_an_error():
    with pytest.raises(KeyError, match="workers"):
        TEMPLATES.finding(Evidence("why", {}, {"x": "a"}), None)


def test_a_notice_gains_nothing():
    assert no_gain(case(None), Evidence("")) is None
