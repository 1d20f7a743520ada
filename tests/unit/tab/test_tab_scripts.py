"""Promises about the front end that can be read off its source."""

import re

import pytest

from feedwatch.report.html import SCRIPTS, STYLE, script, source, style_sheet

SOURCES = {name: source(name) for name in SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize(
    "word",
    ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "DOMParser", "srcdoc"],
)
def test_nothing_parses_text_as_html_or_code(name, word):
    assert word not in SOURCES[name]


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_is_fetched_from_elsewhere(name):
    assert [
        address for address in re.findall(r"https?://[^'\"\s]+", SOURCES[name]) if "www.w3.org/2000/svg" not in address
    ] == []


def test_the_style_loads_nothing():
    assert "url(" not in style_sheet()
    assert "@import" not in style_sheet()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_module_imports_only_modules_before_it(name):
    """So that they can stand behind each other in one file."""
    imported = set(re.findall(r"from '\./([a-z]+\.js)'", SOURCES[name])) - {"table.js"}  # made, always first
    assert all(SCRIPTS.index(other) < SCRIPTS.index(name) for other in imported)


def test_every_file_in_the_directory_is_on_the_list():
    from importlib import resources

    there = {entry.name for entry in (resources.files("feedwatch") / "tab" / "static").iterdir()}
    assert there == {*SCRIPTS, STYLE}


def test_names_are_distinct_across_modules():
    names = [
        name
        for module in SOURCES.values()
        for name in re.findall(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", module, re.MULTILINE)
    ]
    names += [
        name
        for module in SOURCES.values()
        for group in re.findall(r"^let (\w+(?:, \w+)*);", module, re.MULTILINE)
        for name in group.split(", ")[1:]
    ]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_one_script_has_no_import_or_export_left():
    assert re.findall(r"^\s*(?:import|export)\b", script(), re.MULTILINE) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_files_are_short(name):
    assert SOURCES[name].count("\n") <= 300
