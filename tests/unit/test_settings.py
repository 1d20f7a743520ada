import pytest

from feedwatch.errors import SettingError
from feedwatch.settings import Settings, switched_off, switched_on


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("profile", "always"),
        ("profile", None),
        ("window_seconds", 0),
        ("window_seconds", "1"),
        ("window_seconds", float("nan")),
        ("warmup_steps", -1),
        ("warmup_steps", 2.5),
        ("console", "no"),
    ],
)
def test_a_wrong_setting_raises_at_construction_and_is_named(setting, value):
    with pytest.raises(SettingError, match=setting):
        Settings(**{setting: value})


def test_the_defaults_are_right():
    assert Settings().profile == "auto"


@pytest.mark.parametrize(("value", "off", "on"), [("0", True, False), ("1", False, True), ("", False, False)])
def test_the_environment_switches(monkeypatch, value, off, on):
    monkeypatch.setenv("FEEDWATCH", value)
    assert (switched_off(), switched_on()) == (off, on)
