"""`feedwatch doctor`"""

from feedwatch import __version__
from feedwatch.cli import main
from feedwatch.cli.doctor import PACKAGES, findings
from feedwatch.probe.cpu_budget import cpu_budget
from feedwatch.words import number


def test_it_answers_every_question_without_a_gpu(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("tensorboard on PATH", "NVML", "CPU budget", "Feedwatch tab"):
        assert word in out
    assert out.splitlines()[-1].startswith("Next: feedwatch selftest")


def test_every_question_has_one_answer():
    answers = dict(findings())
    assert len(answers) == len(findings())
    assert all(answers.values())
    assert answers["CPU budget"].startswith(f"{number(cpu_budget())} of ")


def test_a_package_that_is_missing_is_not_installed(monkeypatch):
    monkeypatch.setattr("feedwatch.cli.doctor.PACKAGES", (*PACKAGES, "a-package-that-nobody-wrote"))
    answers = dict(findings())
    assert answers["a-package-that-nobody-wrote"] == "not installed"
    assert answers["feedwatch"] == __version__


def test_a_tensorboard_of_another_environment_is_called_so(monkeypatch, tmp_path):
    other = tmp_path / "tensorboard"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "another environment's" in dict(findings())["tensorboard on PATH"]
    monkeypatch.setenv("PATH", "")
    assert "python -m tensorboard.main" in dict(findings())["tensorboard on PATH"]
