"""What TensorFlow itself does without a descriptor is in the fault row F23-late: it ends the process."""

import errno
import os
import threading

import pytest

pytest.importorskip("tensorflow")

from feedwatch.hooks.tf_data import first_op


def on_a_new_thread(call):
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture
def opened(monkeypatch):
    """How many descriptors may be opened; None is any number."""
    left, held, real = {"left": None}, [], (os.open, os.close)

    def opens(*arguments):
        if left["left"] is not None and len(held) >= left["left"]:
            raise OSError(errno.EMFILE, "Too many open files")
        held.append(real[0](*arguments))
        return held[-1]

    def closes(descriptor):
        held.remove(descriptor)
        real[1](descriptor)

    monkeypatch.setattr(first_op.os, "open", opens)
    monkeypatch.setattr(first_op.os, "close", closes)
    yield left
    assert held == []


def test_a_thread_runs_no_op_while_descriptors_are_short_and_does_so_later(opened):
    def three_times():
        opened["left"] = first_op.SPARE_DESCRIPTORS - 1
        first = first_op.may_run_ops()
        opened["left"] = None
        second = first_op.may_run_ops()
        opened["left"] = 0  # one that has run an op may run more
        return first, second, first_op.may_run_ops()

    assert on_a_new_thread(three_times) == (False, True, True)


def test_every_thread_is_asked_for_itself(opened):
    assert on_a_new_thread(first_op.may_run_ops)
    opened["left"] = 0
    assert not on_a_new_thread(first_op.may_run_ops)
