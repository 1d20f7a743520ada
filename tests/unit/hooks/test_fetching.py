import copy
import pickle

import pytest

from feedwatch.hooks.fetching import WatchedIterable


class Loader:
    batch_size = 4

    def __iter__(self):
        return iter([1, 2])

    def __len__(self):
        return 2


def doubled(iterable):
    return (2 * each for each in iterable)


def test_iterators_are_ours_and_everything_else_is_the_users():
    watched = WatchedIterable(Loader(), doubled)
    assert list(watched) == [2, 4]
    assert list(watched) == [2, 4]  # again, as a loader allows
    assert len(watched) == 2
    assert watched.batch_size == 4


def test_what_the_user_does_not_have_is_missing_under_its_own_name():
    watched = WatchedIterable(iter([1]), doubled)
    with pytest.raises(AttributeError, match="sampler"):
        _ = watched.sampler
    with pytest.raises(TypeError):
        len(watched)


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_it_can_be_copied(twin):
    assert list(twin(WatchedIterable(Loader(), doubled))) == [2, 4]
