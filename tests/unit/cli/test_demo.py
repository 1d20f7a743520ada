"""`feedwatch demo`: which frameworks it tells of. tests/contract/test_demo.py trains."""

import pytest

from feedwatch.cli import demo, main


def only(*installed):
    return lambda package: object() if package in installed else None


def test_without_a_name_every_installed_framework_has_its_turn(monkeypatch):
    monkeypatch.setattr(demo, "find_spec", only("tensorflow", "lightning"))
    assert demo._chosen(None) == ["keras", "lightning"]
    monkeypatch.setattr(demo, "find_spec", only("lightning"))
    assert demo._chosen(None) == ["lightning"]


@pytest.mark.parametrize(
    ("arguments", "command"), [([], 'pip install "feedwatch[keras]"'), (["lightning"], "[lightning]")]
)
def test_a_framework_that_is_missing_is_one_line_with_the_command_that_installs_it(
    arguments, command, monkeypatch, error_line
):
    monkeypatch.setattr(demo, "find_spec", only())
    assert main(["demo", *arguments]) == 2
    assert command in error_line()
