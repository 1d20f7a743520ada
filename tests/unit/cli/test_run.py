import sys

import pytest

from feedwatch.cli import main


@pytest.fixture(autouse=True)
def undisturbed(monkeypatch, tmp_path):
    monkeypatch.setenv("FEEDWATCH", "0")
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)


def test_a_script_runs_as_main_with_its_own_arguments(tmp_path, capsys):
    (tmp_path / "train.py").write_text("import sys, beside\nprint(__name__, sys.argv[1:], beside.value)")
    (tmp_path / "beside.py").write_text("value = 5")
    assert main(["run", "train.py", "--epochs", "3", "-m"]) == 0
    assert capsys.readouterr().out == "__main__ ['--epochs', '3', '-m'] 5\n"


def test_a_script_that_is_not_there_is_one_clear_line(capsys):
    assert main(["run", "nothing.py"]) == 2
    assert capsys.readouterr().err == "feedwatch: no such script: nothing.py\n"


@pytest.mark.parametrize(("raised", "code"), [("ValueError('theirs')", 1), ("KeyboardInterrupt", 130)])
def test_an_error_is_told_without_our_own_frames(tmp_path, capsys, monkeypatch, raised, code):
    monkeypatch.setattr(sys, "last_value", None, raising=False)
    (tmp_path / "train.py").write_text(f"def fail():\n    raise {raised}\nfail()")
    assert main(["run", "train.py"]) == code
    told = capsys.readouterr().err
    assert "in fail" in told
    assert "runpy" not in told
    assert "cli" not in told


def test_the_scripts_own_exit_code_is_kept(tmp_path):
    (tmp_path / "train.py").write_text("raise SystemExit(7)")
    with pytest.raises(SystemExit) as stop:
        main(["run", "train.py"])
    assert stop.value.code == 7


def test_a_script_without_a_training_is_told_that_nothing_was_watched(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("FEEDWATCH")
    monkeypatch.setattr("feedwatch.hooks.run.WatchedRun.opened", 0)
    (tmp_path / "train.py").write_text("print('done')")
    assert main(["run", "train.py"]) == 0
    assert "nothing was watched" in capsys.readouterr().err
    monkeypatch.setenv("FEEDWATCH", "0")
    assert main(["run", "train.py"]) == 0
    assert capsys.readouterr().err == ""


def test_a_script_that_trains_with_keras_2_is_told_so(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("FEEDWATCH")
    monkeypatch.setattr("feedwatch.hooks.run.WatchedRun.opened", 0)
    monkeypatch.delitem(sys.modules, "tf_keras", raising=False)
    (tmp_path / "tf_keras.py").write_text("")
    (tmp_path / "train.py").write_text("import tf_keras")
    assert main(["run", "train.py"]) == 0
    assert "Keras 2 (tf_keras) is not measured" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "tf_keras")
