"""What holds for the rules as a whole. Codes and names are permanent."""

import re

import pytest

from feedwatch.advise import rules
from feedwatch.advise.registry import RETIRED, RULES, discovered, rule

# The promise to everybody who wrote one of these down. A new rule joins when it is released; none ever leaves.
RELEASED = {
    "FW101": "loader-without-workers",
    "FW102": "too-few-workers",
    "FW103": "more-workers-than-cpus",
    "FW104": "workers-restart-each-epoch",
    "FW105": "shallow-prefetch",
    "FW106": "in-memory-items",
    "FW107": "slow-collate",
    "FW108": "straggling-items",
    "FW109": "uneven-workers",
    "FW110": "cpu-saturated",
    "FW111": "storage-bound",
    "FW112": "device-tensors-in-dataset",
    "FW113": "unsharded-iterable",
    "FW120": "serial-map",
    "FW121": "missing-prefetch",
    "FW122": "fixed-parallelism",
    "FW123": "serial-reader",
    "FW124": "python-in-pipeline",
    "FW125": "per-element-map",
    "FW126": "uncached-work",
    "FW127": "many-small-files",
    "FW128": "cold-shuffle-buffer",
    "FW129": "ordered-parallelism",
    "FW130": "serial-pydataset",
    "FW131": "python-generator",
    "FW132": "cpu-saturated-tf-data",
    "FW201": "pageable-copies",
    "FW202": "blocking-copies",
    "FW203": "exposed-copies",
    "FW204": "wide-input-dtype",
    "FW205": "many-small-copies",
    "FW206": "slow-link",
    "FW207": "resident-dataset",
    "FW208": "device-memory-full",
    "FW209": "cpu-placed-ops",
    "FW301": "launch-bound-step",
    "FW302": "eager-step",
    "FW303": "retracing",
    "FW304": "slow-callback",
    "FW305": "step-synchronises",
    "FW306": "full-precision",
    "FW307": "model-too-small-for-device",
    "FW308": "start-up-dominated",
    "FW309": "call-overhead",
    "FW310": "gc-pauses",
    "FW311": "slow-validation",
    "FW401": "profiler-busy",
    "FW402": "no-device-trace",
    "FW403": "too-few-steps",
    "FW501": "straggling-rank",
}

# Names say what is wrong. These verbs would say what to do.
IMPERATIVES = {
    "add", "avoid", "batch", "cache", "cast", "compile", "copy", "decrease", "disable", "enable", "fix", "increase", "keep", "make",
    "move", "pack", "pin", "put", "raise", "read", "reduce", "remove", "replace", "run", "set", "shard", "spread", "turn", "use",
}  # fmt: skip

TOY = """
from dataclasses import replace

from feedwatch.advise.registry import rule

RULE = replace(rule("FW403"), code="FW100", name="planted-rule")
"""

by_code = pytest.mark.parametrize("one", RULES, ids=lambda one: one.code)


def test_no_released_code_is_missing_or_means_something_else():
    known = {one.code: one.name for one in RULES} | {code: one.name for code, one in RETIRED.items()}
    assert RELEASED.items() <= known.items()


def test_rules_stand_in_the_order_of_their_codes():
    assert [one.code for one in RULES] == sorted(one.code for one in RULES)


def test_codes_and_names_are_unique_and_retired_codes_stay_retired():
    assert len({one.code for one in RULES}) == len(RULES)
    assert len({one.name for one in RULES}) == len(RULES)
    assert RETIRED.keys().isdisjoint(one.code for one in RULES)
    assert {one.name for one in RETIRED.values()}.isdisjoint(one.name for one in RULES)


def test_a_new_file_is_a_new_rule(tmp_path, monkeypatch):
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "fw100_planted_rule.py").write_text(TOY)
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    assert [one.code for one in discovered()] == ["FW100", *(one.code for one in RULES)]


def test_a_file_without_a_rule_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "fw100_empty.py").touch()
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    with pytest.raises(AttributeError, match="RULE"):
        discovered()


@by_code
def test_a_name_says_what_is_wrong(one):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", one.name)
    assert one.name.split("-")[0] not in IMPERATIVES


@by_code
def test_the_module_carries_code_and_name(one):
    module = one.check.__module__.rsplit(".", 1)[-1]
    assert module == f"{one.code.lower()}_{one.name.replace('-', '_')}"


@by_code
def test_a_rule_is_found_by_code_in_any_case_and_by_name(one):
    assert rule(one.code.lower()) is one
    assert rule(f" {one.name.upper()} ") is one


def test_an_unknown_code_is_a_key_error():
    with pytest.raises(KeyError):
        rule("FW999")
