"""Where the wall time of a run went."""

import pytest

from feedwatch.model.account import EPOCH_START, GAP, PARTS, VALIDATION, Account
from feedwatch.model.steps import COMPUTE, H2D, INPUT_WAIT, OTHER
from tests.unit.model.frozen import assert_frozen

MS = 1_000_000


def account(**changes):
    parts = {INPUT_WAIT: 200, H2D: None, COMPUTE: 600, OTHER: 50, EPOCH_START: 100, VALIDATION: 30, GAP: 20}
    settings = {"batches": 10, "epochs": 2, "wall_ns": 1000 * MS}
    in_ns = {name: None if value is None else value * MS for name, value in parts.items()}
    return Account(**{**settings, "parts_ns": in_ns, **changes})


def test_the_parts_add_up_to_the_whole():
    one = account()
    assert sum(one.ms(part) or 0.0 for part in PARTS) == pytest.approx(one.batch_ms)
    assert sum(one.share(part) or 0.0 for part in PARTS) == pytest.approx(1.0)


def test_what_was_not_measured_is_unknown():
    assert account().ms(H2D) is None
    assert account().share(H2D) is None
    assert account(parts_ns={}).stalled_ns is None
    assert account(parts_ns={}).stall_ratio is None


def test_epoch_starts_are_waiting_too():
    assert account().stall_ratio == pytest.approx(0.3)
    assert account().stalled_ms == pytest.approx(30.0)


def test_where_a_device_clock_ran_only_its_starving_counts():
    assert account(starved_ns=50 * MS).stall_ratio == pytest.approx(0.15)


def test_a_typical_epoch_has_one_start():
    """Three epochs of five batches, of which the first start is not in the account."""
    one = account(batches=15, epochs=2, epoch_batches=5.0)
    typical = one.typical
    assert typical.parts_ns[EPOCH_START] == 150 * MS
    assert typical.wall_ns == 1075 * MS
    assert sum(value or 0 for value in typical.parts_ns.values()) == typical.wall_ns
    assert account().typical == account()


def test_sampled_copies_come_out_of_compute():
    one = account().with_copies(2.0, 1.0)
    assert one.ms(H2D) == pytest.approx(2.0)
    assert one.ms(COMPUTE) == pytest.approx(58.0)
    assert account().with_copies(1000.0, 1.0).ms(COMPUTE) == 0.0
    assert one.with_copies(5.0, 1.0) is one


def test_an_account_is_a_value():
    assert_frozen(Account)
