"""The report's own shape; report/json.py writes it."""

import dataclasses

from feedwatch.model import report
from feedwatch.model.report import READABLE_SCHEMAS, SCHEMA, Report, Status
from tests.unit.model.frozen import assert_frozen


def test_the_schema_and_the_words_of_a_status_do_not_change():
    assert SCHEMA == 2
    assert READABLE_SCHEMAS == (1, 2)
    assert [status.value for status in Status] == ["running", "finished", "failed", "interrupted"]


def test_every_section_is_frozen():
    assert_frozen(*(kind for kind in vars(report).values() if dataclasses.is_dataclass(kind)))


def test_fields_that_later_versions_added_have_a_default_so_that_older_files_are_read():
    first = {
        "status", "run", "clock", "steps", "verdict", "phases", "startup", "epoch_boundary", "series", "pipeline",
        "transfers", "device", "host", "findings", "self_cost",
    }  # fmt: skip
    required = {field.name for field in dataclasses.fields(Report) if field.default is dataclasses.MISSING}
    assert required == first
