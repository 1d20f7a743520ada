from dataclasses import replace

from tensorboard.plugin_util import markdown_to_safe_html

from feedwatch.model.verdict import Basis, Finding, Fix, Gain
from feedwatch.report.markdown import render_markdown
from tests.fakes.reports import report

HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) ![i](http://e/x.png) **b** `c` | d"


def finding(title="Set num_workers=4", why="load 40 ms", after="loader = DataLoader(data, num_workers=4)"):
    return Finding(
        "FW101", "loader-without-workers", title, why, {}, Fix("", after), Gain(1.5, 2.0, Basis.PREDICTED, "x")
    )


def test_the_verdict_is_the_first_line():
    text = render_markdown(report(wall_ms=10, wait_ms=5))
    assert text.splitlines()[0].startswith("**Training waits for data 50 % of the time")


def test_it_stays_below_25_lines_with_many_findings():
    many = replace(report(), findings=(finding(),) * 9)
    assert len(render_markdown(many).splitlines()) < 25


def test_an_unmeasured_phase_reads_not_measured():
    assert "copy to device not measured" in render_markdown(report(h2d_ms=None))


def test_hostile_text_stays_text_in_tensorboard():
    hostile = replace(report(), findings=(finding(title=HOSTILE, why=HOSTILE),))
    html = markdown_to_safe_html(render_markdown(hostile))
    assert "<script" not in html
    assert "<a " not in html
    assert "<img" not in html
