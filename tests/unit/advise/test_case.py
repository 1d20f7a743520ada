"""All that a rule may look at."""

from feedwatch.model.steps import INPUT_WAIT
from tests.rules.build import case, window


def test_a_phase_of_the_run_or_none_without_steps():
    assert case(window(100, 60)).phase(INPUT_WAIT).median_ns == 60e6
    assert case(None).phase(INPUT_WAIT) is None
