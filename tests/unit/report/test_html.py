"""The HTML file as text; tests/tab opens it in a browser."""

import base64
import hashlib
import json
import re

import pytest

from feedwatch.report.html import render_html
from tests.tab import reports


def embedded(page: str) -> dict:
    return json.loads(re.search(r'id="feedwatch-data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_data_comes_back_out_unchanged():
    report = reports.hostile()
    page = render_html([("</script><b>", report)])
    assert embedded(page)["reports"][0]["report"] == report
    assert embedded(page)["reports"][0]["run"] == "</script><b>"


def test_no_report_can_leave_its_data_block():
    data = re.search(r'id="feedwatch-data">(.*?)</script>', render_html([("<!--", reports.hostile())]), re.DOTALL)[1]
    assert "<" not in data
    assert ">" not in data


def test_the_title_is_escaped_and_short():
    page = render_html([("<title>" + "x" * 5000, reports.healthy())])
    title = re.search(r"<title>(.*?)</title>", page)[1]
    assert title.startswith("Feedwatch: &lt;title&gt;xxx")
    assert len(title) <= 200


def test_the_policy_allows_exactly_our_script_and_our_style():
    page = render_html([("a", reports.healthy())])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    for text in (script, style):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_nothing_in_the_file_points_elsewhere():
    page = render_html([("a", reports.workers2())])
    assert re.findall(r"(?:src|href)=", page) == []


def test_a_number_that_is_none_is_refused_instead_of_written():
    with pytest.raises(ValueError, match="JSON"):
        render_html([("a", reports.healthy() | {"verdict": {"stall_ratio": float("nan")}})])


def test_no_report_at_all_is_still_a_page():
    assert embedded(render_html([])) == {"reports": [], "rules": {}, "comparisons": []}
