import pytest

from feedwatch.hooks.lightning.factory import callbacks
from feedwatch.lightning import FeedWatch


@pytest.mark.parametrize(("value", "count"), [("1", 1), ("on", 1), ("0", 0), ("", 0)])
def test_one_variable_adds_the_callback(value, count, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", value)
    made = callbacks()
    assert [type(each) for each in made] == [FeedWatch] * count
