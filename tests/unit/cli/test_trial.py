import os
import subprocess
import sys

import pytest

from feedwatch.cli import main
from feedwatch.settings import TRIAL_VARIABLE, wished_trial


@pytest.fixture(autouse=True)
def undisturbed(monkeypatch, tmp_path):
    monkeypatch.setenv("FEEDWATCH", "0")
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)


def test_the_wish_reaches_every_callback_of_the_script(tmp_path, capsys):
    (tmp_path / "train.py").write_text(
        "import sys\nfrom feedwatch.settings import wished_trial\nprint(wished_trial(False), sys.argv[1:])"
    )
    assert main(["try", "--seconds", "20", "--only", "fw101,FW105", "--log-dir", "there", "train.py", "--lr", "1"]) == 2
    out, err = capsys.readouterr()
    assert "seconds=20.0" in out
    assert "only=('FW101', 'FW105')" in out
    assert "directory='there'" in out
    assert "['--lr', '1']" in out
    assert err == "feedwatch: no training was seen in train.py: there is nothing to try\n"
    assert TRIAL_VARIABLE not in os.environ
    assert wished_trial(False) is None


def test_the_end_of_a_trial_leaves_the_process_as_a_success(tmp_path):
    """Whatever the script still has running: here a thread that would keep the interpreter for a minute."""
    (tmp_path / "train.py").write_text(
        "import threading, time\n"
        "from feedwatch.trial.board import TrialOver\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "raise TrialOver(0)"
    )
    command = [sys.executable, "-m", "feedwatch", "try", "train.py"]
    assert subprocess.run(command, cwd=tmp_path, timeout=40, check=False).returncode == 0


@pytest.mark.parametrize("given", [["--only", "101"], ["--seconds", "soon"]])
def test_a_wrong_argument_is_said_at_once(given, capsys):
    with pytest.raises(SystemExit):
        main(["try", *given, "train.py"])
    assert "error: argument" in capsys.readouterr().err


def test_too_short_a_time_is_one_clear_line(tmp_path, capsys):
    (tmp_path / "train.py").write_text("")
    assert main(["try", "--seconds", "0", "train.py"]) == 2
    assert "between 1 and 3600 seconds" in capsys.readouterr().err
