"""How the Trainer is found; what is wrapped on it is shown by trainings in tests/contract/huggingface."""

from types import SimpleNamespace

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from feedwatch.hooks.huggingface.callback import FeedWatch
from feedwatch.hooks.huggingface.trainer import trainer_above


class Caller:
    def __init__(self, callbacks):
        self.callback_handler = SimpleNamespace(callbacks=callbacks)

    def call(self, function):
        return function()


def test_the_trainer_is_found_on_the_stack_by_the_callback_that_it_holds(tmp_path):
    watch, other = FeedWatch(tmp_path), FeedWatch(tmp_path)
    mine = Caller([watch])
    assert mine.call(lambda: Caller([other]).call(lambda: trainer_above(watch))) is mine
    assert trainer_above(watch) is None
