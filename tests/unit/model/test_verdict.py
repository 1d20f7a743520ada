"""Words that stand in files of other people's runs do not change."""

from feedwatch.model.verdict import Basis, Bound, Finding, Fix, Gain, Verdict
from tests.unit.model.frozen import assert_frozen


def test_bounds_and_bases_are_those_of_every_schema():
    assert {bound.value for bound in Bound} == {"input", "transfer", "compute", "launch", "host", "unknown"}
    assert {basis.value for basis in Basis} == {"predicted", "measured"}


def test_values_are_frozen():
    assert_frozen(Verdict, Finding, Fix, Gain)


def test_a_verdict_knows_nothing_that_nobody_measured():
    bare = Verdict(Bound.UNKNOWN, "title", "detail")
    assert {bare.stall_ratio, bare.step_ms, bare.samples_per_s, bare.ceiling_speedup, bare.headroom} == {None}
