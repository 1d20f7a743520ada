"""How each Keras backend is measured: where the fetch is, what an end hook means, and who sees the fetches."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import keras

from feedwatch.hooks.run import WatchedRun
from feedwatch.measure.marks import DONE, END
from feedwatch.measure.steps import Ends, StepReader

if TYPE_CHECKING:
    from feedwatch.hooks.torch.device import DeviceClock

CHAINED: Final = (
    "with several steps per execution a fetch overlaps the step before it: the input wait is computed, and below"
    " 20 ms per step it is at least what is shown"
)
DETERMINISM: Final = (
    "exact input wait: op determinism forbids timestamps in the graph; the wait is estimated from tf.data's own gaps"
)
NOT_FOUND: Final = "input wait: no iterator of this fit could be timed"


class Backend(NamedTuple):
    ends: Ends
    stamped: bool  # batches are fetched inside the compiled function, where only the graph can take stamps
    end_mark: int | None  # what the end hook appends; None: nothing
    end_mark_elsewhere: int | None  # the same, where Keras runs the end hook on another thread


BACKENDS: Final = {
    # Keras turns the logs into floats after every call: the host has waited for the device when the end hook runs.
    "tensorflow": Backend(Ends.MARKED, stamped=True, end_mark=END, end_mark_elsewhere=None),
    # The host computes by itself, or a clock on the device tells. Batches are fetched in the header of Keras' loop.
    "torch": Backend(Ends.NEXT, stamped=False, end_mark=END, end_mark_elsewhere=None),
    # The end hook runs when the step's logs are ready: that is when the device has finished the step.
    "jax": Backend(Ends.DONE, stamped=False, end_mark=DONE, end_mark_elsewhere=DONE),
}
UNKNOWN: Final = Backend(Ends.NEXT, stamped=False, end_mark=END, end_mark_elsewhere=None)


def this_backend() -> Backend:
    return BACKENDS.get(keras.backend.backend(), UNKNOWN)


class Fetches(Protocol):
    """Who sees when a batch is asked for and when it is there."""

    def wrap(self, iterator: Any) -> Any | None:
        """The iterator to hand to Keras instead. None: this one cannot be timed."""
        ...

    def collect(self) -> None:
        """On the training thread, before its marks are handed over."""
        ...

    def discard(self) -> None:
        """We are switched off: nothing may pile up."""
        ...

    def close(self) -> None: ...


class UnseenFetches:
    """No way to see the fetch: the wait is not measured, and never guessed from the gap between two hooks."""

    def wrap(self, iterator: Any) -> None:
        return None

    def collect(self) -> None:
        return

    def discard(self) -> None:
        return

    def close(self) -> None:
        return


def torch_clock() -> "DeviceClock | None":
    """Of the device that Keras on torch trains on. None: there is no clock to read, or the host computes by itself."""
    if keras.backend.backend() != "torch":
        return None
    import torch
    from keras.src.backend.torch.core import get_device

    from feedwatch.hooks.torch.device import device_clock

    return device_clock(torch.device(get_device()))


def fetches_of(run: WatchedRun, reader: StepReader, per_call: int) -> Fetches:
    backend, session = keras.backend.backend(), run.session
    if backend in ("torch", "jax"):
        from feedwatch.hooks.keras.python_iterator import PythonFetches

        return PythonFetches(run.append, run.now_ns)
    if backend != "tensorflow":
        session.note(f"input wait: feedwatch does not know the backend {backend!r}")
        reader.measured = False
        return UnseenFetches()
    if per_call > 1:
        session.note(CHAINED)
    if _deterministic_ops():
        from feedwatch.hooks.keras.tf_stamps import GAPS_PER_LOOK, DataGaps

        def no_gaps() -> None:
            reader.measured = False

        session.warn(DETERMINISM)
        run.marks.most = 2 * GAPS_PER_LOOK
        gaps = DataGaps(run.marks, no_gaps)
        session.stamped_fetches = gaps.fetches
        return gaps
    from feedwatch.hooks.keras.tf_iterator import GraphFetches
    from feedwatch.hooks.keras.tf_stamps import MOST_ROWS

    run.marks.most = 2 * max(1, MOST_ROWS // per_call)
    stamps = GraphFetches(run.append)
    session.stamped_fetches = stamps.fetches
    return stamps


def _deterministic_ops() -> bool:
    try:
        from tensorflow.python.framework.config import is_op_determinism_enabled

        return bool(is_op_determinism_enabled())
    except ImportError:
        return False
