"""Everything that is written during training goes through the same five calls."""

import inspect

import pytest

from feedwatch.report.output import Output
from feedwatch.report.tensorboard import SummaryOutput


def calls(kind):
    return {
        name: list(inspect.signature(member).parameters)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


def lightning_loggers():
    return pytest.importorskip("feedwatch.hooks.lightning.loggers").MetricsOutput


@pytest.mark.parametrize("kind", [lambda: SummaryOutput, lightning_loggers], ids=["TensorBoard", "other loggers"])
def test_our_outputs_take_the_calls_with_the_same_arguments(kind):
    ours = calls(kind())
    assert {name: arguments for name, arguments in ours.items() if name in calls(Output)} == calls(Output)
