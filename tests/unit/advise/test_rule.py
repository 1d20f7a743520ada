"""A rule, how it is made, and the finding it makes."""

import re
from types import FunctionType

import pytest

from feedwatch.advise.registry import RULES
from feedwatch.advise.rule import HEADINGS, Alters, Found, rule
from feedwatch.model.verdict import Basis, Bound, Fix, Gain

GAIN = Gain(1.5, 2.0, Basis.PREDICTED, "because")


def made_in(module):
    check = FunctionType((lambda _case: None).__code__, {"__name__": module})
    check.__module__ = module
    return rule("\n## What it sees\n", knob="k", relieves=Bound.INPUT, symptoms=("s",), edit_lines=1, needs=())(check)


def test_code_and_name_come_from_the_module():
    one = made_in("feedwatch.advise.rules.loader.fw100_made_up_rule")
    assert (one.code, one.name) == ("FW100", "made-up-rule")
    assert one.page == "## What it sees"


@pytest.mark.parametrize("module", ["feedwatch.advise.rules.loader.helpers", "fw1_short", "xfw100_name"])
def test_a_module_without_a_code_makes_no_rule(module):
    with pytest.raises(ValueError, match="fwNNN_its_name"):
        made_in(module)


def test_a_finding_says_what_was_found():
    found = Found("title", "says", {"load_ms": 3.0}, "old()", "new()", GAIN, (Alters.ORDER, Alters.CODE))
    finding = made_in("fw100_made_up_rule").finding(found)
    assert (finding.code, finding.name, finding.title) == ("FW100", "made-up-rule", "title")
    assert (finding.why, finding.evidence, finding.gain) == ("says", {"load_ms": 3.0}, GAIN)
    assert finding.fix == Fix("old()", "new()")
    assert finding.alters == ("order", "code")


@pytest.mark.parametrize("one", RULES, ids=lambda one: one.code)
def test_a_rule_has_the_five_headings_in_their_order_and_something_below_each(one):
    assert tuple(re.findall(r"^## (.+)$", one.page, re.MULTILINE)) == HEADINGS
    parts = re.split(r"^## .+$", one.page, flags=re.MULTILINE)
    assert parts[0] == ""
    assert all(len(part.strip()) > 15 for part in parts[1:])
    assert one.knob.replace(" ", "_").isidentifier()
