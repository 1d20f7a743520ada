import math

import pytest

from feedwatch.model.trial import Outcome, Span
from feedwatch.trial.block import Block
from feedwatch.trial.compare import FLOOR, SIGMAS, drift, measured, outcome_of, unrest
from feedwatch.trial.variant import AS_IS, Variant

OTHER = Variant("v")


def block(variant, at, step, spread=0.0):
    chunks = tuple(step * (1 + spread * (-1) ** number) for number in range(8))
    return Block(variant, at * 100, at * 100 + 50, 10, round(step * 10), None, chunks)


def test_a_block_is_compared_with_its_neighbours():
    """The machine becomes twice as slow; the variant is half as slow as the run as it is, all the time."""
    blocks = [block(AS_IS, 0, 1000), block(OTHER, 1, 750), block(AS_IS, 2, 2000), block(OTHER, 3, 1000)]
    found = measured("v", blocks)
    assert math.sqrt(found.speedup.low * found.speedup.high) == pytest.approx(1.94, rel=0.05)
    assert drift(blocks) == 2.0


def test_a_quiet_machine_gives_a_narrow_interval_and_a_shaky_one_a_wide_one():
    quiet = measured("v", [block(AS_IS, 0, 1000), block(OTHER, 1, 500), block(AS_IS, 2, 1000)])
    shaky = measured("v", [block(AS_IS, 0, 1000, 0.3), block(OTHER, 1, 500, 0.3), block(AS_IS, 2, 1000, 0.3)])
    assert quiet.narrow
    assert not shaky.narrow
    assert shaky.speedup.low < quiet.speedup.low < 2.0 < quiet.speedup.high < shaky.speedup.high


def test_neighbours_load_widens_it():
    blocks = [block(AS_IS, 0, 1000), block(OTHER, 1, 500)]
    quiet, loud = measured("v", blocks), measured("v", blocks, FLOOR + 0.05)
    assert loud.speedup.high / loud.speedup.low > quiet.speedup.high / quiet.speedup.low


def test_blocks_that_disagree_widen_it():
    agree = [block(AS_IS, 0, 1000), block(OTHER, 1, 500), block(AS_IS, 2, 1000), block(OTHER, 3, 500)]
    differ = [*agree[:3], block(OTHER, 3, 800)]
    assert measured("v", agree).narrow
    assert not measured("v", differ).narrow


def test_the_run_as_it_is_and_an_unknown_name_have_no_factor():
    blocks = [block(AS_IS, 0, 1000)]
    assert measured(AS_IS.name, blocks).speedup is None
    assert measured(AS_IS.name, blocks).outcome is Outcome.UNDECIDED
    assert measured("nobody", blocks) is None
    assert drift(blocks) is None


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (1.9, 2.1, Outcome.FASTER),
        (0.98, 1.02, Outcome.SAME),
        (0.5, 0.9, Outcome.SLOWER),
        (0.95, 1.2, Outcome.UNDECIDED),
        (1.001, 1.02, Outcome.SAME),
    ],
)
def test_what_an_interval_says(low, high, outcome):
    assert outcome_of(Span(low, high)) is outcome


def test_what_blocks_of_the_same_differ_by_is_told_from_all_of_them():
    assert unrest([]).variance == 0.0
    shaky = [block(AS_IS, 0, 1000), block(OTHER, 1, 500), block(AS_IS, 2, 1100), block(OTHER, 3, 550)]
    few, more = unrest(shaky), unrest([*shaky, block(AS_IS, 4, 1000), block(OTHER, 5, 500)])
    assert few.variance > 0
    assert few.sigmas > more.sigmas > SIGMAS  # two differences say less than four
    alone = Variant("w")
    quiet = [block(AS_IS, 0, 1000), block(OTHER, 1, 500), block(AS_IS, 2, 1000), block(alone, 3, 500)]
    # A variant with a single block is as uncertain as the others are shaky.
    assert measured("w", quiet).narrow
    assert not measured("w", [*shaky, block(alone, 4, 500)]).narrow
