"""What is tried next, and what is picked, for a machine whose gains are known."""

import pytest

from feedwatch.model.trial import Span
from feedwatch.trial.compare import Measured
from feedwatch.trial.search import Chain, ListSearch, WorkerSearch, enough, surely_better
from feedwatch.trial.variant import AS_IS, CEILING, Variant, shown


def result(gain, wait=0.5, step=1000.0):
    return Measured(2, 100, 10**9, step / gain, wait, Span(gain / 1.02, gain * 1.02))


def workers(count):
    return Variant(shown({"num_workers": count}), settings={"num_workers": count})


def explored(search, gain_of, now=0, waits=lambda gain: 0.5, left_out=()):
    """Tries until the search is satisfied; the names in order, and what it picks."""
    results, names = {AS_IS.name: result(1.0, waits(1.0))}, []
    for _ in range(50):
        variant = search.next(results, frozenset(left_out))
        if variant is None:
            picked = search.pick(results)
            return names, None if picked is None else picked.name
        names.append(variant.name)
        gain = gain_of(variant)
        results[variant.name] = result(gain, waits(gain))
    raise AssertionError("it never ends")


def supplied(step_ms, load_ms):
    """Workers that wait for nothing but their own work."""
    as_is = step_ms + load_ms

    def gain(variant):
        count = variant.settings["num_workers"]
        return as_is / (as_is if count == 0 else max(step_ms, load_ms / count))

    return gain


@pytest.mark.parametrize(("load_ms", "best"), [(9, 1), (19, 2), (30, 3), (50, 5), (75, 8), (150, 15)])
def test_the_smallest_number_that_supplies_the_step_is_found(load_ms, best):
    gain = supplied(10, load_ms)
    waits = lambda now: 0.0 if now >= (10 + load_ms) / 10 * 0.999 else 0.5  # noqa: E731
    names, picked = explored(WorkerSearch(0, 16, workers), gain, waits=waits)
    assert picked == f"num_workers={best}"
    assert len(names) <= 8


def test_it_begins_with_what_was_advised():
    names, _ = explored(WorkerSearch(0, 16, workers, advised=6), supplied(10, 55))
    assert names[0] == "num_workers=6"


def test_it_goes_down_where_nothing_waits():
    gain = lambda variant: 0.5 if variant.settings["num_workers"] == 0 else 1.0  # noqa: E731
    names, picked = explored(WorkerSearch(8, 16, workers), gain, waits=lambda _: 0.0)
    assert picked == "num_workers=1"
    assert names == ["num_workers=4", "num_workers=2", "num_workers=1", "num_workers=0"]


def test_it_stays_where_nothing_helps():
    _, picked = explored(WorkerSearch(2, 16, workers), lambda variant: 0.9)
    assert picked is None


def test_what_was_refused_is_not_asked_again():
    names, picked = explored(WorkerSearch(0, 4, workers), supplied(10, 19), left_out=["num_workers=2"])
    assert "num_workers=2" not in names
    assert picked != "num_workers=2"


def test_single_changes_come_first_and_then_those_that_helped_together():
    single = {name: Variant(name, settings={name: 1}) for name in "abc"}
    both = lambda helped: Variant("+".join(one.name for one in helped), settings={one.name: 1 for one in helped})  # noqa: E731
    gains = {"a": 1.5, "b": 1.0, "c": 1.4, "a+c": 2.2}
    names, picked = explored(ListSearch(list(single.values()), both), lambda variant: gains[variant.name])
    assert names == ["a", "b", "c", "a+c"]
    assert picked == "a+c"


def test_the_smaller_edit_wins_where_both_are_as_good():
    single = {name: Variant(name, settings={name: 1}) for name in "ab"}
    both = lambda helped: Variant("a+b", settings={"a": 1, "b": 1})  # noqa: E731
    gains = {"a": 2.0, "b": 1.2, "a+b": 2.02}
    assert explored(ListSearch(list(single.values()), both), lambda one: gains[one.name])[1] == "a"


def test_nothing_that_helps_is_no_pick():
    only = Variant("a", settings={"a": 1})
    assert explored(ListSearch([only], lambda helped: helped[0]), lambda _: 1.01)[1] is None


def test_a_second_search_builds_on_the_first():
    def deeper(base):
        settings = {**({} if base is None else base.settings), "prefetch_factor": 4}
        return ListSearch(
            [Variant(shown(settings), settings=settings)], lambda helped: helped[0], base.name if base else AS_IS.name
        )

    def gain(variant):
        return supplied(10, 40)(variant) * (1.2 if "prefetch_factor" in variant.settings else 1.0)

    names, picked = explored(Chain(WorkerSearch(0, 4, workers), deeper), gain)
    assert names[-1] == picked == "num_workers=4, prefetch_factor=4"


def test_a_change_on_top_that_adds_nothing_is_left_out():
    def deeper(base):
        return ListSearch(
            [Variant("more", settings={"num_workers": 4, "more": 1})],
            lambda helped: helped[0],
            base.name if base else AS_IS.name,
        )

    _, picked = explored(Chain(WorkerSearch(0, 4, workers), deeper), lambda one: 5.0)
    assert picked == "num_workers=1"


def test_enough_is_hardly_any_wait_or_as_fast_as_one_cached_batch():
    results = {"a": result(1.0, wait=0.01), "b": result(1.0, wait=0.3), CEILING.name: result(1.0)}
    assert enough("a", results)
    assert enough("b", results)  # as fast as the ceiling: its wait is hidden
    assert not enough("b", {**results, CEILING.name: result(1.5)})
    assert not enough("nobody", results)


def test_better_is_more_than_the_interval_leaves_open():
    wide = Measured(1, 10, 10, 1.0, None, Span(0.9, 1.5))
    assert surely_better("a", AS_IS.name, {"a": result(1.1)})
    assert not surely_better("a", AS_IS.name, {"a": wide})
    assert not surely_better("a", AS_IS.name, {"a": result(1.02)})
    assert not surely_better("nobody", AS_IS.name, {})
