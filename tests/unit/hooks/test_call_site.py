"""The line of the user's call, from files that are written here."""

import linecache
import sys
from types import ModuleType, SimpleNamespace

import pytest

from feedwatch.hooks import call_site
from feedwatch.hooks.call_site import MAX_SOURCE_BYTES, function_call_site, only_call_site, user_files

SCRIPT = """
def decode(value):
    return value

def twice(value):
    return value

halve = lambda value: value / 2

def build(data):
    data.map(twice); data.map(twice)
    return (
        data.map(decode, num_parallel_calls=2)
        .map(lambda value: value + 1)
        .filter(predicate=decode)
        .batch(32)
        .batch(8)
    )
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    names = {}
    exec(compile(SCRIPT, str(path), "exec"), names)
    return SimpleNamespace(path=str(path), **names)


class Recorder:
    """Takes the calls of `build`."""

    def __init__(self):
        self.given = []

    def __getattr__(self, _name):
        def take(*values, **named):
            self.given += [each for each in (*values, *named.values()) if callable(each)]
            return self

        return take


def test_the_call_is_named_and_not_the_function(script):
    assert function_call_site(script.decode, "map") == "train.py:13"
    assert function_call_site(script.decode, "filter") == "train.py:15"


def test_a_lambda_is_known_by_its_line(script):
    data = Recorder()
    script.build(data)
    written_in_call = next(each for each in data.given if each.__name__ == "<lambda>")
    assert function_call_site(written_in_call, "map") == "train.py:14"
    assert function_call_site(script.halve, "map") is None


def test_two_calls_that_fit_name_no_place(script):
    assert function_call_site(script.twice, "map") is None
    assert only_call_site("map", [script.path]) is None


def test_calls_without_a_function_are_told_by_their_number(script):
    assert only_call_site("batch", [script.path, script.path], 8) == "train.py:17"
    assert only_call_site("batch", [script.path], 9) is None
    assert only_call_site("filter", [script.path]) == "train.py:15"


def test_what_cannot_be_read_names_no_place(tmp_path, script):
    assert function_call_site(abs, "map") is None
    assert only_call_site("map", [str(tmp_path / "missing.py")]) is None
    broken, large = tmp_path / "broken.py", tmp_path / "large.py"
    broken.write_text("data.map(")
    large.write_text("data.map(f)\n" + "#" * MAX_SOURCE_BYTES)
    assert only_call_site("map", [str(broken)]) is None
    assert only_call_site("map", [str(large)]) is None


def test_the_files_of_the_users_code_hold_no_library(script):
    files = user_files(script.decode, ModuleType("x"), pytest.approx)
    assert files[0] == script.path
    assert not any("site-packages" in file for file in files)


def test_in_a_notebook_the_cell_is_named(monkeypatch):
    file, text = "/tmp/ipykernel_7/123.py", "loader = (\n    DataLoader(data)\n)\n"
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(keepends=True), file))
    shell = SimpleNamespace(compile=SimpleNamespace(_filename_map={file: 3}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert only_call_site("DataLoader", user_files()) == "cell [3], line 2"
    assert call_site._cell_number("<ipython-input-12-abc>") == 12
