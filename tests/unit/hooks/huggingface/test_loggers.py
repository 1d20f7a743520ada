"""Which callbacks of the Trainer are trackers, and on which thread they are told; a real tracker is in the contract."""

from types import SimpleNamespace

from feedwatch.hooks.huggingface.loggers import OUTBOX_ROWS, trackers_of


class TrackioCallback:
    def __init__(self):
        self.logged = []

    def on_log(self, args, state, control, model=None, logs=None, **more):
        self.logged.append((args, state, control, logs))


class MyTracker(TrackioCallback):
    """A user's own, made of one that is known."""


class CometCallback(TrackioCallback):
    pass


class Other(SimpleNamespace):
    def on_log(self, *_, **__):
        raise AssertionError


def found(*callbacks):
    return trackers_of(SimpleNamespace(callback_handler=SimpleNamespace(callbacks=callbacks)), 1, 2, 3)


def test_trackers_are_known_by_name_also_where_a_user_made_one_of_them():
    assert len(found(TrackioCallback(), Other(), MyTracker())) == 2
    assert trackers_of(None, 1, 2, 3) == ()


def test_rows_wait_for_the_training_thread_and_go_through_on_log():
    tracker = TrackioCallback()
    (output,) = found(tracker)
    for step in range(OUTBOX_ROWS + 5):
        output.scalars(step, {"feedwatch/step_ms": float(step)}, 0.0)
    assert tracker.logged == []
    output.drain()
    assert len(tracker.logged) == OUTBOX_ROWS
    assert tracker.logged[-1] == (1, 2, 3, {"feedwatch/step_ms": OUTBOX_ROWS + 4.0})


def test_a_client_that_may_wait_for_a_server_is_never_called_by_the_training_thread():
    tracker = CometCallback()
    (output,) = found(tracker)
    output.scalars(1, {"feedwatch/step_ms": 1.0}, 0.0)
    assert len(tracker.logged) == 1
    output.drain()
    assert len(tracker.logged) == 1
