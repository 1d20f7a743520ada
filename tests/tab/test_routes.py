"""The routes, asked without a port, with both of TensorBoard's readers."""

import json
import time
import zlib
from pathlib import Path

import pytest
from werkzeug.test import Client

from feedwatch.report.json import from_json
from feedwatch.report.tensorboard import own_run
from feedwatch.tab.reports import MAX_REPORT_BYTES

from . import reports
from .event_files import write_report
from .tensorboards import app_on, started, wait_for_runs, wsgi

BASE = "/data/plugin/feedwatch"
ATTACK = "<img src=x onerror=alert(1)>"


def client_of(logdir: Path, reader: str, **options) -> Client:
    return Client(wsgi(logdir, reader, **options))


def test_the_summary_names_every_run_with_its_four_numbers(tmp_path, reader):
    write_report(tmp_path / "slow", reports.workers2())
    write_report(tmp_path / "fine", reports.healthy())
    rows = wait_for_runs(client_of(tmp_path, reader), 2)
    assert [(row["run"], row["level"], row["status"]) for row in rows] == [
        ("fine", "ok", "finished"),
        ("slow", "bad", "finished"),
    ]
    slow = rows[1]
    assert (slow["stall_ratio"], slow["step_ms"], slow["samples_per_s"], slow["ceiling_speedup"]) == (
        0.539,
        63.8,
        1003.1,
        2.17,
    )
    assert "series" not in slow
    assert slow["phases"]["compute"] == 21.2


def test_the_report_route_gives_the_report_as_it_was_written(tmp_path, reader):
    report = reports.workers2()
    write_report(tmp_path / "slow", report)
    client = client_of(tmp_path, reader)
    wait_for_runs(client, 1)
    answer = client.get(BASE + "/report?run=slow").get_json()
    assert answer["report"] == report
    assert answer["row"]["step"] == 4000


def test_what_the_real_writer_wrote_is_what_the_tab_reads(tmp_path, reader):
    report = from_json(reports.tf_data())
    output = own_run(tmp_path / "run" / "feedwatch")
    output.scalars(10, {"feedwatch/stall_ratio": 0.4}, 1_790_000_000.0)
    output.advice(10, "waits", 1_790_000_000.0)
    output.report(10, report, 1_790_000_000.0)
    output.close()
    client = client_of(tmp_path, reader)
    assert wait_for_runs(client, 1)[0]["run"] == "run/feedwatch"
    assert from_json(client.get(BASE + "/report?run=run/feedwatch").get_json()["report"]) == report


def test_only_the_last_snapshot_is_shown(tmp_path, reader):
    for step in range(1, 150):
        write_report(tmp_path / "run", reports.workers2() | {"status": "running"}, step=step, wall_s=1_790_000_000.0)
    write_report(tmp_path / "run", reports.healthy(), step=150, wall_s=1_790_000_000.0)
    client = client_of(tmp_path, reader)
    rows = wait_for_runs(client, 1)
    assert rows[0]["status"] == "finished"
    assert rows[0]["step"] == 150


def test_a_log_directory_without_reports_is_an_empty_list(tmp_path, reader):
    assert client_of(tmp_path, reader).get(BASE + "/summary").get_json() == {"runs": []}


def test_an_unknown_run_is_not_found(tmp_path, reader):
    client = client_of(tmp_path, reader)
    for run in ("nobody", "../../etc/passwd", "", ATTACK):
        answer = client.get(BASE + "/report", query_string={"run": run})
        assert answer.status_code == 404
        assert answer.get_json()["error"]


def test_hostile_run_names_stay_text_in_json(tmp_path, reader):
    name = "<img src=x onerror=alert(1)>"
    write_report(tmp_path / name, reports.hostile())
    client = client_of(tmp_path, reader)
    rows = wait_for_runs(client, 1)
    assert rows[0]["run"] == name
    answer = client.get(BASE + "/report", query_string={"run": name})
    assert answer.content_type == "application/json"
    assert answer.get_json()["report"]["an_unknown_key"] == {"of": "a later version"}


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b"\x00\x01 no zlib at all", "damaged"),
        (zlib.compress(b"{" + b'"a":' * 50), "damaged"),
        (zlib.compress(json.dumps(reports.workers2()).encode())[:400], "damaged"),
        (zlib.compress(b"[" * 100_000), "damaged"),
        (zlib.compress(b"[1, 2]"), "damaged"),
        (zlib.compress(b" " * (MAX_REPORT_BYTES * 8)), "larger than 4 MiB"),
        (zlib.compress(json.dumps({"schema": 3, "feedwatch": "9.0"}).encode()), "feedwatch 9.0 (schema 3)"),
        (zlib.compress(json.dumps({"schema": [1] * 99}).encode()), "schema unknown"),
    ],
    ids=["no zlib", "cut JSON", "cut zlib", "deep", "no object", "bomb", "later schema", "odd schema"],
)
def test_a_report_that_cannot_be_read_becomes_a_sentence(tmp_path, reader, payload, says):
    write_report(tmp_path / "bad", payload)
    write_report(tmp_path / "good", reports.healthy())
    client = client_of(tmp_path, reader)
    rows = {row["run"]: row for row in wait_for_runs(client, 2)}
    assert says in rows["bad"]["error"]
    assert rows["good"]["error"] is None
    assert says in client.get(BASE + "/report?run=bad").get_json()["report"]["error"]


def test_the_page_of_a_rule_comes_from_the_registry(tmp_path):
    from feedwatch.advise.pages import page_markdown
    from feedwatch.advise.registry import RULES

    client = client_of(tmp_path, "python")
    code = RULES[0].code
    assert client.get(BASE + "/rule", query_string={"code": code}).get_json() == {
        "code": code,
        "page": page_markdown(code),
    }
    for unknown in ("FW000", "../secret", ""):
        assert client.get(BASE + "/rule", query_string={"code": unknown}).status_code == 404


def test_assets_are_a_closed_list_with_the_right_type(tmp_path):
    client = client_of(tmp_path, "python")
    for name, kind in (("index.js", "text/javascript"), ("style.css", "text/css")):
        answer = client.get(f"{BASE}/{name}")
        assert (answer.status_code, answer.mimetype) == (200, kind)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    for path in ("/plugin.py", "/../plugin.py", "/static/index.js", "/dom.js", "/%2e%2e/loader.py", "/"):
        assert client.get(BASE + path).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("route", ["/summary", "/report?run=a", "/rule?code=FW101", "/index.js"])
def test_every_route_only_reads(tmp_path, method, route):
    answer = client_of(tmp_path, "python").open(BASE + route, method=method)
    assert answer.status_code in {403, 405}


def test_answers_are_not_sniffed(tmp_path, reader):
    write_report(tmp_path / "run", reports.workers2())
    client = client_of(tmp_path, reader)
    for route in ("/summary", "/report?run=run", "/report?run=none", "/rule?code=none"):
        assert client.get(BASE + route).headers["X-Content-Type-Options"] == "nosniff"


def test_it_works_below_a_path_prefix(tmp_path, reader):
    write_report(tmp_path / "run", reports.workers2())
    client = client_of(tmp_path, reader, path_prefix="/team/board")
    assert len(wait_for_runs(client, 1, prefix="/team/board")) == 1
    assert client.get("/team/board" + BASE + "/report?run=run").status_code == 200


def test_ranks_in_one_directory_are_grouped_and_set_side_by_side(tmp_path, reader):
    for number in range(4):
        write_report(tmp_path / f"ddp/rank{number}", reports.rank(number))
    write_report(tmp_path / "alone", reports.workers2())
    client = client_of(tmp_path, reader)
    rows = {row["run"]: row["group"] for row in wait_for_runs(client, 5)}
    assert rows == {"alone": None, **{f"ddp/rank{number}": "ddp" for number in range(4)}}
    ranks = client.get(BASE + "/report?run=ddp/rank0").get_json()["report"]["ranks"]
    assert (ranks["count"], ranks["missing"], ranks["slowest"]["rank"]) == (4, 0, 2)
    assert ranks["lines"][0]["run"] == "ddp/rank2"


def test_one_hostile_rank_costs_its_siblings_nothing(tmp_path, reader):
    for number in range(3):
        write_report(tmp_path / f"ddp/rank{number}", reports.rank(number))
    hostile = reports.rank(3)
    hostile["run"] |= {"started": 10**400, "rank": [3]}
    write_report(tmp_path / "ddp/rank3", hostile)
    client = client_of(tmp_path, reader)
    assert len(wait_for_runs(client, 4)) == 4
    for number in range(4):
        assert client.get(f"{BASE}/report?run=ddp/rank{number}").status_code == 200
    assert client.get(BASE + "/report?run=ddp/rank0").get_json()["report"]["ranks"]["count"] == 3


def test_two_hundred_runs_open_in_less_than_a_second(tmp_path, reader):
    for number in range(200):
        write_report(tmp_path / f"sweep/{number:03}", reports.workers2(number))
    flags, ingester = started(tmp_path, reader)
    wait_for_runs(Client(app_on(flags, ingester)), 200)
    fresh = Client(app_on(flags, ingester))  # TensorBoard has read its files; this plugin has not decoded one yet
    began = time.perf_counter()
    assert len(fresh.get(BASE + "/summary").get_json()["runs"]) == 200
    fresh.get(BASE + "/report?run=sweep/000").get_json()
    assert time.perf_counter() - began < 1.0


def test_the_comparison_is_that_of_the_command_line(tmp_path):
    write_report(tmp_path / "slow", reports.workers2())
    write_report(tmp_path / "fast", reports.workers6())
    write_report(tmp_path / "odd", reports.hostile())
    client = client_of(tmp_path, "python")
    wait_for_runs(client, 3)
    answer = client.get(BASE + "/compare?before=slow&after=fast").get_json()
    assert answer["speedup"] == pytest.approx(1711.0 / 1003.1)
    step = answer["rows"][0]
    assert (step["name"], step["call"], step["windows_needed"]) == ("step", "significant", 5)
    assert client.get(BASE + "/compare?before=slow&after=odd").get_json() == {}
    assert client.get(BASE + "/compare?before=slow&after=gone").status_code == 404
