"""What we set is taken back; owners that are held weakly may die before that."""

import gc
import weakref
from contextlib import suppress

from feedwatch.hooks.undo import Undo, wrap


class Owner:
    value = "of the class"


def test_a_weak_owner_gets_back_what_it_had():
    owner, undo = Owner(), Undo()
    owner.named = 1
    undo.set(owner, "value", 2, weak=True)
    undo.set(owner, "named", 2, weak=True)
    assert (owner.value, owner.named) == (2, 2)
    undo.all()
    assert vars(owner) == {"named": 1}


def test_a_weak_owner_is_not_kept_alive_and_its_death_is_no_error():
    owner, undo = Owner(), Undo()
    undo.set(owner, "value", 2, weak=True)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
    undo.all()


def test_an_owner_is_kept_alive_unless_it_is_weak():
    owner, undo = Owner(), Undo()
    undo.set(owner, "value", 2)
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    kept = alive()
    undo.all()
    assert vars(kept) == {}


def test_one_attribute_of_a_weak_owner_can_be_taken_back_before_the_end():
    owner, undo = Owner(), Undo()
    undo.set(owner, "value", 2, weak=True)
    undo.set(owner, "named", 2, weak=True)
    undo.back(owner, "value")
    assert vars(owner) == {"named": 2}


def test_what_somebody_wrapped_around_ours_stays_on_a_weak_owner():
    owner, undo = Owner(), Undo()
    undo.set(owner, "value", 2, weak=True)
    owner.value = 3
    undo.all()
    assert vars(owner) == {"value": 3}


def test_taking_one_back_compares_no_values_of_the_user():
    class Never:
        def __eq__(self, other):
            raise AssertionError

        __hash__ = None

    owner, undo = Owner(), Undo()
    undo.set(owner, "named", Never())
    undo.set(owner, "value", Never())
    undo.back(owner, "value")
    assert list(vars(owner)) == ["named"]


class Wrapped:
    def method(self):
        return "theirs"


def test_everything_set_is_taken_back():
    owner, undo, seen = Wrapped(), Undo(), []
    owner.value = 1
    undo.set(owner, "value", 2)
    wrap(undo, owner, "method", lambda: seen.append("in"), lambda: seen.append("out"))
    assert owner.method() == "theirs"
    undo.all()
    assert vars(owner) == {"value": 1}
    assert seen == ["in", "out"]


def test_what_somebody_wrapped_around_ours_is_left_alone():
    owner, undo = Wrapped(), Undo()
    wrap(undo, owner, "method", lambda: None, lambda: None)
    theirs = owner.method = lambda: "wrapped"
    undo.all()
    assert owner.method is theirs


def test_one_thing_that_cannot_be_taken_back_does_not_keep_the_others():
    owner, undo = Wrapped(), Undo()
    undo.set(owner, "value", 2)

    def broken():
        raise ZeroDivisionError

    undo.later(lambda: vars(owner).update(last=True))
    undo.later(broken)
    with suppress(ZeroDivisionError):
        undo.all()
    assert vars(owner) == {"last": True}
