"""`feedwatch check`"""

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
