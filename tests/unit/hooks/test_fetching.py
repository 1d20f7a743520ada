import copy
import pickle

import pytest

from feedwatch.hooks.fetching import RememberedIterable, WatchedIterable, WatchedIterator


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


def test_an_iterator_is_asked_by_next_and_a_loader_is_not():
    watched = WatchedIterator(iter([1, 2]), doubled)
    assert (next(watched), next(watched), next(watched, "end")) == (2, 4, "end")
    with pytest.raises(TypeError, match="not an iterator"):
        next(WatchedIterable(Loader(), doubled))


class Batches:
    """An iterator of a loader's own."""

    def __init__(self, loader):
        self.left, self.workers = [1, 2], 3

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop(0)

    def __len__(self):
        return 2


def test_a_walk_has_the_length_and_the_attributes_of_the_iterator_behind_it():
    remembered = RememberedIterable(Loader(), Batches)
    batches = remembered.seen_through(each * 2 for each in remembered)
    assert (len(batches), batches.workers) == (2, 3)
    assert list(batches) == [2, 4]
    own = iter(remembered)
    assert remembered.seen_through(own) is own
