"""Fixes in the user's own names and values."""

from feedwatch.advise.snippets import function_name, loader_call, place
from tests.rules.build import loader, stage


def test_a_loader_call_repeats_the_users_settings_and_changes_only_what_is_advised():
    text = loader_call(loader(batch_size=64, num_workers=2, pin_memory=True), {"num_workers": 6})
    assert "batch_size=64," in text
    assert "num_workers=6," in text
    assert "pin_memory=True," in text
    assert "dataset,  # your Photos" in text
    compile(text, "fix", "exec")


def test_settings_at_their_default_are_left_out():
    assert "prefetch_factor" not in loader_call(loader(prefetch_factor=2))
    assert "prefetch_factor=4" in loader_call(loader(prefetch_factor=4))
    assert "prefetch_factor" not in loader_call(loader(num_workers=0, prefetch_factor=None))


def test_a_stage_is_called_by_the_users_function_and_line():
    assert place(stage("Map")) == "decode (train.py:31)"
    assert place(stage("Batch")) == "Batch"
    assert function_name(stage("Map", function="<lambda>")) == "function"
    assert function_name(stage("Map", function="Reader.decode")) == "decode"
