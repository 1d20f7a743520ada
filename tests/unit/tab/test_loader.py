"""What TensorBoard imports at every start, also for people who never use feedwatch."""

import subprocess
import sys

import pytest
from tensorboard.plugins import base_plugin

from feedwatch.tab.loader import FeedwatchLoader


def test_the_loader_imports_nothing_of_ours_but_itself():
    code = (
        "import sys; from feedwatch.tab.loader import FeedwatchLoader; "
        "print(sorted(m for m in sys.modules if m.startswith('feedwatch') or m in ('torch', 'tensorflow', 'keras', 'numpy', 'rich')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    ours = {"feedwatch", "feedwatch.tab", "feedwatch.tab.loader"}
    assert set(eval(done.stdout)) <= ours | {"numpy"}  # numpy: TensorBoard's own


def test_a_plugin_that_cannot_be_made_leaves_tensorboard_alive(caplog):
    context = base_plugin.TBContext(data_provider=None)
    del context.data_provider
    assert FeedwatchLoader().load(context) is None
    assert "could not be loaded" in caplog.text


def test_the_entry_point_of_the_wheel_names_the_loader():
    from importlib.metadata import entry_points

    ours = [point for point in entry_points(group="tensorboard_plugins") if point.name == "feedwatch"]
    if not ours:
        pytest.skip("feedwatch is not installed here, only on the path")
    assert ours[0].load() is FeedwatchLoader
