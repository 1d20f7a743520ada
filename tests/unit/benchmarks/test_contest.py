"""Whoever begins and whoever plays which part: the variant's figures stay the variant's."""

import time

import pytest

from benchmarks.contest import Contest

pytestmark = pytest.mark.alone

STEP_S = {"slow": 0.006, "plain": 0.002}


class Sleeper:
    def __init__(self, own_s, played):
        self.own_s, self.played = own_s, played

    def fit(self, name, side, steps):
        self.played.append((self.own_s, name, side is not None))
        for _ in range(steps if side else 0):
            side.step()
            time.sleep(STEP_S[name] + self.own_s)


@pytest.mark.parametrize("number", [0, 1])
def test_a_player_that_is_slower_by_itself_is_no_cost_of_the_variant(number):
    contest = Contest((Sleeper(0.0, []), Sleeper(0.01, [])), 12, 4)
    variant, base = contest.pair("slow", "plain", number)
    assert variant["median_wall_us"] - base["median_wall_us"] == pytest.approx(4000, abs=2500)


def test_every_variant_is_warmed_up_and_has_its_pairs():
    played = []
    found = Contest((Sleeper(0.0, played), Sleeper(0.0, played)), 4, 4).measure({"slow": 2}, {"slow": "plain"})
    assert found["slow"]["pairs"] == 2
    assert sorted(name for _, name, timed in played if not timed) == ["plain", "plain", "slow", "slow"]
    assert sum(timed for _, _, timed in played) == 2 * 2 * 2
