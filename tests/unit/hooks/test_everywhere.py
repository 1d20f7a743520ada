"""What can be seen without a training; scripts are run in tests/contract/test_run.py."""

import importlib
import os
import sys

import pytest

from feedwatch.hooks.everywhere import Everywhere
from feedwatch.model.report import Status


@pytest.fixture
def everywhere(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", "")
    monkeypatch.syspath_prepend(tmp_path)
    watched = Everywhere(tmp_path / "runs")
    watched._patches.clear()
    yield watched
    watched.close(Status.FINISHED)


def test_a_module_is_patched_when_the_script_imports_it_and_not_before(everywhere, tmp_path):
    (tmp_path / "imported_later.py").write_text("value = 1")
    seen = []
    everywhere._patches["imported_later"] = lambda module: seen.append(module.value)
    everywhere.install()
    assert seen == []
    importlib.import_module("imported_later")
    assert seen == [1]


def test_a_module_that_is_there_already_is_patched_at_once(everywhere):
    seen = []
    everywhere._patches["json"] = seen.append
    everywhere.install()
    assert seen == [sys.modules["json"]]


def test_an_import_that_fails_is_the_scripts_own_error(everywhere, tmp_path):
    (tmp_path / "broken_module.py").write_text("raise ImportError('theirs')")
    everywhere._patches.update(broken_module=print, not_there_at_all=print)
    everywhere.install()
    with pytest.raises(ImportError, match="theirs"):
        importlib.import_module("broken_module")
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        importlib.import_module("not_there_at_all")


def test_nothing_is_installed_where_the_kill_switch_is_on(everywhere, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", "0")
    everywhere._patches["json"] = pytest.fail
    everywhere.install()
    assert everywhere not in sys.meta_path
    assert os.environ["FEEDWATCH"] == "0"


def test_after_the_script_imports_are_as_they_were(everywhere):
    before = list(sys.meta_path)
    everywhere.install()
    everywhere.close(Status.FINISHED)
    assert sys.meta_path == before
