from dataclasses import replace

import pytest

tf = pytest.importorskip("tensorflow")

from feedwatch.hooks.tf_data.trial import CACHE, PARALLEL, PREFETCH, TfPlan  # noqa: E402
from feedwatch.settings import TrialWish  # noqa: E402
from feedwatch.trial.variant import Refused  # noqa: E402
from tests.fakes.reports import report  # noqa: E402
from tests.fakes.trials import finding  # noqa: E402


def double(x):
    return x * 2


def dataset():
    return tf.data.Dataset.range(400).map(double).batch(4)


def plan(data=None, findings=(), wish=None):
    return TfPlan(
        dataset() if data is None else data, replace(report(), findings=tuple(findings)), wish or TrialWish(), 4
    )


def names(made):
    return [variant.name for variant in made.search()._singles]


def test_what_a_rule_asks_for_is_tried_first():
    made = plan(findings=[finding("FW121")])
    assert names(made)[0] == "prefetch at the end"
    assert made.search()._singles[0].advised
    assert any(name.startswith("cache behind double") for name in names(made))
    assert "parallel map" in names(made)


def test_only_what_was_asked_for():
    assert names(plan(wish=TrialWish(only=("FW120",)))) == ["parallel map"]


def test_a_pipeline_that_has_all_of_it_is_left_alone():
    data = tf.data.Dataset.range(40).batch(4).prefetch(2)
    assert names(plan(data)) == []


def test_every_variant_gives_the_same_numbers():
    made = plan()
    expected = sorted(value for batch in dataset().as_numpy_iterator() for value in batch)
    for settings in ({PARALLEL: 1}, {PREFETCH: 1}, {"deterministic": False}, {PARALLEL: 1, PREFETCH: 1}):
        found = made.dataset(settings).as_numpy_iterator()
        assert sorted(value for batch in found for value in batch) == expected, settings
    assert len(list(made.dataset({CACHE: 1}).take(300))) == 300  # it comes again and again


def test_a_cache_that_memory_cannot_hold_is_refused():
    made = plan()
    made._ram_bytes = 1000.0
    with pytest.raises(Refused, match="a cache would hold"):
        made.dataset({CACHE: 1})


def test_the_edit_names_the_users_function():
    (variant, *_) = [one for one in plan().search()._singles if one.name == "parallel map"]
    fix = plan().fix(variant)
    assert "dataset.map(double, num_parallel_calls=tf.data.AUTOTUNE)" in fix.after
    together = plan()._together(plan().search()._singles)
    for part in ("AUTOTUNE)  # last", ".cache()"):
        assert part in plan().fix(together).after
