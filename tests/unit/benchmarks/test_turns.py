"""Two fits take turns: never both at once, each to its own end."""

import os
import threading
import time

import pytest

from benchmarks.turns import PipeBaton, Side, take_turns

pytestmark = pytest.mark.alone


def fit_of(steps, who, seen, pause_s=0.0):
    def fit(side):
        for _ in range(steps):
            side.step()
            seen.append(who)
            time.sleep(pause_s)

    return fit


def test_they_alternate_after_the_same_number_of_steps():
    seen = []
    take_turns(fit_of(6, "a", seen), fit_of(6, "b", seen), 2)
    # The reading behind a turn's last step is the one before the next step, which waits for its turn.
    assert "".join(seen) == "aabbaabbaabb"


def test_every_step_is_in_one_turn_and_waiting_is_in_none():
    seen = []
    first, second = take_turns(fit_of(9, "a", seen, 0.02), fit_of(9, "b", seen, 0.08), 3)
    for side, least_s, most_s in ((first, 0.02, 0.06), (second, 0.08, 0.2)):
        assert [len(turn) - 1 for turn in side.turns] == [3, 3, 2]
        each_s = [(turn[-1][0] - turn[0][0]) / 1e9 / (len(turn) - 1) for turn in side.turns]
        assert all(least_s <= mean_s < most_s for mean_s in each_s)
    assert 0.18 <= first.seconds < 0.6
    # What the fit itself sees is longer: it waits for the other one's turns.
    assert 0.05e6 <= first.step_us() < 0.2e6


def test_the_longer_one_goes_on_alone():
    seen = []
    _, second = take_turns(fit_of(2, "a", seen), fit_of(9, "b", seen), 2)
    assert seen.count("b") == 9
    assert sum(len(turn) - 1 for turn in second.turns) == 8


def test_an_error_of_one_fit_ends_nothing_silently():
    def failing(side):
        side.step()
        raise ZeroDivisionError("planted")

    seen = []
    with pytest.raises(ZeroDivisionError, match="planted"):
        take_turns(failing, fit_of(5, "b", seen), 2)
    assert seen == ["b"] * 5


def test_two_processes_alternate_over_pipes_in_one_fit_after_the_other(tmp_path):
    pipes = [tmp_path / name for name in "ab"]
    for pipe in pipes:
        os.mkfifo(pipe)
    seen = []

    def both_fits(who, ends):
        baton = PipeBaton(*ends)
        for _ in range(2):
            baton.begin_again()
            Side(2, baton).run(fit_of(4, who, seen))

    # Threads here: a pipe does not know who holds its ends.
    players = [threading.Thread(target=both_fits, args=row) for row in (("a", pipes), ("b", pipes[::-1]))]
    first = os.open(pipes[0], os.O_RDWR)
    for player in players:
        player.start()
    os.write(first, PipeBaton.TURN)
    for player in players:
        player.join(10)
    assert "".join(seen) == "aabbaabb" * 2
