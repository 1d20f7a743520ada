"""What something that is iterated has inside."""

import pytest

tf = pytest.importorskip("tensorflow")

from feedwatch.hooks.fetching import WatchedIterable  # noqa: E402
from feedwatch.hooks.keras.loop_data import _named, tf_dataset_in  # noqa: E402


def test_a_pipeline_is_found_inside_iterators_and_wrappers():
    data = tf.data.Dataset.range(4)
    assert tf_dataset_in(data) is data
    assert tf_dataset_in(data.as_numpy_iterator()) is data
    assert tf_dataset_in(WatchedIterable(WatchedIterable(data, iter), iter)) is data
    assert tf_dataset_in(iter(data)) is data


@pytest.mark.parametrize("other", [[1], iter([1]), range(3), object()])
def test_nothing_is_found_where_nothing_is(other):
    assert tf_dataset_in(other) is None


def test_without_torch_something_unknown_has_its_name():
    assert _named([1]).opaque == "list: what it does is not seen"


def test_without_torch_a_library_is_known_by_its_own_settings():
    grain = pytest.importorskip("grain.python")
    facts = _named(grain.MapDataset.range(4).to_iter_dataset())
    assert facts.kind == "grain"
    assert facts.opaque is None
