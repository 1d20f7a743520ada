"""What holds for the registry as a whole. The catalogue below is a promise: codes and names are permanent."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from feedwatch.advise.pages import page_markdown, symptom_index
from feedwatch.advise.precedence import TABLE
from feedwatch.advise.registry import RETIRED, RULES, rule

ROOT = Path(__file__).parents[2]

CATALOGUE = {
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

by_code = pytest.mark.parametrize("one", RULES, ids=lambda one: one.code)


def test_the_registry_is_the_catalogue_in_the_order_of_its_codes():
    assert [(one.code, one.name) for one in RULES] == sorted(CATALOGUE.items())


def test_codes_and_names_are_unique_and_retired_codes_stay_retired():
    assert len({one.code for one in RULES}) == len(RULES)
    assert len({one.name for one in RULES}) == len(RULES)
    assert RETIRED.isdisjoint(one.code for one in RULES)


@by_code
def test_a_name_says_what_is_wrong(one):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", one.name)
    assert one.name.split("-")[0] not in IMPERATIVES


@by_code
def test_the_module_carries_code_and_name(one):
    module = one.check.__module__.rsplit(".", 1)[-1]
    assert module == f"{one.code.lower()}_{one.name.replace('-', '_')}"


@by_code
def test_the_page_is_complete(one):
    page = one.page
    for text in (page.sees, page.why, page.fix, page.leave):
        assert len(text) > 15
        assert text.rstrip().endswith((".", "`"))
    assert page.references
    assert all(reference.startswith("https://") for reference in page.references)
    assert one.symptoms
    assert one.edit_lines >= 1


@by_code
def test_a_rule_is_found_by_code_in_any_case_and_by_name(one):
    assert rule(one.code.lower()) is one
    assert rule(f" {one.name.upper()} ") is one
    headings = re.findall(r"^## (.+)$", page_markdown(one.name), re.MULTILINE)
    assert headings == ["What it sees", "Why it costs", "Fix", "When to leave it", "References"]


def test_an_unknown_code_is_a_key_error():
    with pytest.raises(KeyError):
        rule("FW999")


@by_code
def test_every_symptom_leads_to_its_rule(one):
    index = symptom_index()
    for symptom in one.symptoms:
        line = next(line for line in index.splitlines() if line.startswith(f"- **{symptom}**"))
        assert f"(rules/{one.code}.md)" in line


def test_the_generated_pages_are_those_in_the_repository():
    command = [sys.executable, str(ROOT / "tools" / "render_rule_pages.py"), "--check"]
    done = subprocess.run(
        command,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_precedence_speaks_of_rules_that_exist_and_gives_reasons():
    for row in TABLE:
        assert row.stronger in CATALOGUE
        assert set(row.weaker) <= set(CATALOGUE) - {row.stronger}
        assert len(row.reason) > 20


def test_no_two_rules_silence_each_other():
    pairs = {(row.stronger, weaker) for row in TABLE for weaker in row.weaker}
    assert not {(weaker, stronger) for stronger, weaker in pairs} & pairs
