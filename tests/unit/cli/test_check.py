"""`feedwatch check`"""

import json
from pathlib import Path

import pytest

from feedwatch.cli import main


@pytest.mark.parametrize(("allowed", "code"), [("0.6", 0), ("0.5", 0), ("0.4", 1), ("0", 1)])
def test_it_exits_0_or_1(waiting, allowed, code, capsys):
    assert main(["check", waiting, "--max-stall", allowed]) == code


def test_a_run_that_waits_too_long_is_told_what_to_change(waiting, capsys):
    main(["check", waiting, "--max-stall", "0.05"])
    assert capsys.readouterr().out.splitlines()[0] == "too long: waited for input 50 % of the time, allowed 5 %"


def test_a_run_without_a_stall_ratio_is_an_error_not_a_pass(unmeasured, error_line):
    assert main(["check", unmeasured]) == 2
    assert "no stall ratio" in error_line()


@pytest.mark.parametrize("value", ["-1", "1.5", "much"])
def test_it_refuses_a_share_that_is_none(waiting, value, capsys):
    with pytest.raises(SystemExit) as leave:
        main(["check", waiting, "--max-stall", value])
    assert leave.value.code == 2


@pytest.mark.parametrize("stall_ratio", [-5, 1.01])
def test_f90_a_share_that_cannot_be_is_an_error_not_a_pass(waiting, stall_ratio, error_line):
    file = Path(waiting) / "feedwatch" / "report.json"
    made = json.loads(file.read_text())
    made["verdict"]["stall_ratio"] = stall_ratio
    file.write_text(json.dumps(made))
    assert main(["check", waiting]) == 2
    assert "no share" in error_line()


def test_what_a_trial_measured_stands_beside_its_advice(tmp_path, capsys):
    from dataclasses import replace

    from feedwatch.advise.measured import with_measured
    from feedwatch.report.json import write_report_file
    from tests.fakes.reports import report
    from tests.fakes.trials import row, section

    tried = section(row(), picked="num_workers=2")
    waiting = replace(report(wall_ms=10, wait_ms=5, compute_ms=5), findings=with_measured([], tried), trial=tried)
    write_report_file(tmp_path / "feedwatch", waiting)
    assert main(["check", str(tmp_path)]) == 1
    assert "FW101: Use num_workers=2 (1.9–2.1× faster, measured)" in capsys.readouterr().out
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 0
    assert "is a trial: Use num_workers=2" in " ".join(capsys.readouterr().out.split())
