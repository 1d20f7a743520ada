"""Who is told in a trial. A trial of a real Trainer is in tests/contract/test_trials.py."""

import types

import pytest

pytest.importorskip("transformers")

from feedwatch.hooks.huggingface.trial import ENDLESS, lift_limit, mute


class WandbCallback:
    pass


class OwnTracker(WandbCallback):
    pass


class Own:
    pass


def test_trackers_and_progress_bars_are_not_told_and_the_users_own_are():
    own = Own()
    handler = types.SimpleNamespace(callbacks=[WandbCallback(), own, OwnTracker()])
    before = handler.callbacks
    mute(types.SimpleNamespace(callback_handler=handler))
    assert handler.callbacks == [own]
    assert len(before) == 3  # a loop over the old list goes on


def test_a_trial_does_not_end_with_the_users_epochs_and_gives_the_limit_back():
    arguments = types.SimpleNamespace(max_steps=-1)
    give_back = lift_limit(arguments)
    assert arguments.max_steps == ENDLESS
    give_back()
    assert arguments.max_steps == -1
