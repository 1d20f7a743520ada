"""The documented fields are the fields that there are, and reports of every kind pass the schema."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

jsonschema = pytest.importorskip("jsonschema")

from feedwatch.model.report import Report  # noqa: E402
from feedwatch.report.json import from_json, to_json  # noqa: E402
from feedwatch.report.schema import FIELDS, _classes, json_schema  # noqa: E402
from tests.tab import reports  # noqa: E402

ROOT = Path(__file__).parents[3]
KINDS = [reports.workers2, reports.healthy, reports.tf_data, reports.failed, lambda: reports.rank(1)]


@pytest.fixture(scope="module")
def validator():
    schema = json.loads((ROOT / "docs" / "report-schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_every_field_is_described_once_and_none_is_described_that_is_gone():
    there = {
        kind.__name__: {"self" if each.name == "self_cost" else each.name for each in fields(kind)}
        for kind in _classes(Report)
    }
    assert {name: set(described) for name, described in FIELDS.items()} == there


@pytest.mark.parametrize("make", KINDS)
def test_a_report_as_it_is_printed_passes(validator, make):
    printed = json.loads(json.dumps(to_json(from_json(make()))))
    printed["schema"] = json_schema()["properties"]["schema"]["const"]
    assert [error.message for error in validator.iter_errors(printed)] == []


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("verdict", "stall_ratio"), "much"),
        (("verdict", "bound"), "moon"),
        (("status",), "done"),
        (("findings",), {}),
        (("steps", "batches"), 1.5),
        (("schema",), 1),
    ],
)
def test_a_report_that_is_none_does_not_pass(validator, path, wrong):
    printed = to_json(from_json(reports.workers2()))
    place = printed
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = wrong
    assert list(validator.iter_errors(printed))


def test_a_field_that_is_missing_does_not_pass(validator):
    printed = to_json(from_json(reports.workers2()))
    del printed["verdict"]["title"]
    assert list(validator.iter_errors(printed))


def test_the_pages_in_the_docs_are_those_of_this_code():
    command = "from tools.render_report_schema import pages; print(all(p.read_text() == t for p, t in pages().items()))"
    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
