"""What import-linter cannot see: what names are used, who does I/O, what no source file may do, and where tests stand."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "feedwatch"
SOURCES = {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")}


def places(pattern):
    found = re.compile(pattern)
    return {name for name, text in SOURCES.items() if found.search(text)}


def room_of(name):
    return name.split("/")[0]


def imported(text):
    """The top-level names of everything a text imports, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def names_used(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name.split(".")[-1]


def test_one_module_frames_records():
    assert places(r"import RecordWriter") == {"report/tensorboard.py"}
    assert places(r"\bEventFile\b") == {"report/tensorboard.py"}


@pytest.mark.parametrize(
    "forbidden", [r"\bimport pickle\b", r"\bimport subprocess\b", r"(?<![\w.])eval\(", r"\bexec\("]
)
def test_nothing_pickles_evaluates_or_starts_processes(forbidden):
    assert places(forbidden) == set()


def test_nothing_swallows_ctrl_c():
    assert places(r"except\s*:|except BaseException(?!.*\n\s+.*\n?\s*raise)") == set()


# -- step records -----------------------------------------------------------------------------------


def names_a_record(text):
    return "StepRecord" in set(names_used(text))


def test_no_hook_knows_what_a_step_record_is():
    makers = {name for name, text in SOURCES.items() if room_of(name) == "hooks" and names_a_record(text)}
    assert makers == set()


@pytest.mark.parametrize(
    "text",
    [
        "from feedwatch.model.steps import StepRecord",
        "from feedwatch.measure.steps import StepRecord as R",
        "import feedwatch.model.steps as steps\nsteps.StepRecord(1, 2)",
    ],
)
def test_a_hook_that_names_a_step_record_is_found_whatever_way_it_takes(text):
    assert names_a_record(text)


# -- pure rooms -------------------------------------------------------------------------------------

PURE = {"model", "diagnose", "advise", "trial", "errors.py", "words.py"}
# Everything else, with what it needs the outside for. A new room belongs to one of the two.
IMPURE = {
    "__init__.py": "the version",
    "__main__.py": "runs the command",
    "huggingface.py": "a door: imports its framework",
    "keras.py": "a door: imports its framework",
    "lightning.py": "a door: imports its framework",
    "torch.py": "a door: imports its framework",
    "cli": "prints, reads and writes files",
    "demo": "a user's script",
    "selftest": "users' scripts",
    "digest.py": "writes the reports of a run",
    "files.py": "opens files",
    "guard.py": "reads the environment, warns",
    "hooks": "lives in other people's frameworks",
    "measure": "reads the clock",
    "probe": "asks the machine",
    "report": "reads and writes files",
    "session.py": "registers for the end of the process",
    "settings.py": "reads the environment",
    "sink.py": "has a thread",
    "tab": "a web plugin",
}
# importlib and pkgutil find the rules; nothing here opens a file, reads a clock or knows the machine.
PURE_IMPORTS = {
    "collections", "dataclasses", "decimal", "enum", "feedwatch", "functools", "importlib", "itertools", "keyword", "math", "operator",
    "pkgutil", "re", "statistics", "string", "typing",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "read_text", "write_text", "read_bytes", "write_bytes"}


def impurities(text):
    calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    called = {getattr(func, "id", getattr(func, "attr", "")) for func in calls}
    return {*(set(imported(text)) - PURE_IMPORTS), *(called & IMPURE_CALLS)}


def test_every_room_is_pure_or_says_what_it_needs_the_outside_for():
    rooms = {room_of(name) for name in SOURCES}
    assert not PURE & set(IMPURE)
    assert rooms <= PURE | set(IMPURE)


def test_pure_rooms_import_nothing_that_could_reach_the_outside():
    found = {name: wrong for name, text in SOURCES.items() if room_of(name) in PURE and (wrong := impurities(text))}
    assert found == {}


@pytest.mark.parametrize(
    "text", ["import os", "from time import sleep", "def f():\n    import io", "open('x')", "p.read_text()"]
)
def test_an_impurity_is_found(text):
    assert impurities(text)


def test_the_hot_path_imports_the_standard_library_and_itself():
    allowed = sys.stdlib_module_names | {"feedwatch"}
    for name, text in SOURCES.items():
        if room_of(name) == "measure":
            assert set(imported(text)) <= allowed, name


# -- tests mirror the source ------------------------------------------------------------------------

TESTS = ROOT / "tests"
# Modules without a test of their own, with the reason.
NEEDS_NO_TEST = {
    "__main__.py": "one call",
    "errors.py": "classes without code",
    "huggingface.py": "a door; every contract test goes through it",
    "keras.py": "a door; every contract test goes through it",
    "lightning.py": "a door; every contract test goes through it",
    "torch.py": "a door; every contract test goes through it",
}
# Tests of what is not one module, with what they are about.
ABOUT_MORE = {
    "test_supply.py": "what is shipped, and the versions it is tested with",
    "test_limits.py": "docs/limits.md",
    "test_conftest.py": "second attempts",
    "test_docs.py": "the pages",
    "test_hot_path_cost.py": "the promise about cost",
    "test_import.py": "what an import brings with it",
    "test_import_contracts.py": "the contracts",
    "test_layout.py": "this file",
    "test_typing.py": "the types a user sees",
    "cli/test_main.py": "all commands together",
    "measure/test_bounded_memory.py": "the promise about memory",
    "probe/test_trace_references.py": "real traces of other people's",
    "probe/traces/test_recordings.py": "traces of our own",
    "tab/test_static.py": "the tab's scripts and styles",
}
# It goes when the last script that hands over finished steps takes marks instead.
STILL_WITHOUT_TEST = {"measure/recorder.py"}


def mirrored():
    """Modules that are to have a test. Rules have their cases in tests/rules instead."""
    return {
        name
        for name in SOURCES
        if not name.endswith("__init__.py") and not name.startswith("advise/rules/") and name not in NEEDS_NO_TEST
    }


def place_of_test(name):
    folder, _, file = name.rpartition("/")
    return f"{folder}/test_{file}".lstrip("/")


def unit_tests():
    root = TESTS / "unit"
    return {file.relative_to(root).as_posix() for file in root.rglob("test_*.py")}


def test_every_module_has_a_test_in_the_same_place():
    assert {name for name in mirrored() if place_of_test(name) not in unit_tests()} <= STILL_WITHOUT_TEST


def test_every_unit_test_is_about_a_module_or_says_what_it_is_about():
    modules = {place_of_test(name) for name in mirrored()}
    own = {name for name in unit_tests() if not name.startswith("benchmarks/")}
    assert own - modules == set(ABOUT_MORE)


def test_the_tables_name_only_what_exists():
    assert set(NEEDS_NO_TEST) <= set(SOURCES)


def test_every_folder_of_tests_is_a_package():
    """Else two files of one name in two folders are one module to pytest, and one of them is not run."""
    folders = {file.parent for file in TESTS.rglob("test_*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()
