"""torch and JAX backends: `next()` is timed where Keras calls it, in Python."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from feedwatch.guard import Guard
from feedwatch.hooks.keras.facts import leading_size
from feedwatch.measure.marks import ENTER, GOT, INPUT, Mark

if TYPE_CHECKING:
    from feedwatch.hooks.torch.meter import DeviceSteps

# A closer look at a fetch costs microseconds: one fetch in so many gets it. No power of two, so that the looks do not
# fall on the same worker of a loader again and again.
SAMPLE_EVERY: Final = 7

_guard = Guard("the look at the first batch")


class CloserLook(Protocol):
    """Must not raise."""

    def before_fetch(self) -> None: ...

    def after_fetch(self, wait_ns: int) -> None: ...


class PythonFetches:
    """The fetches of one fit: where their marks go, and who looks closer at some of them."""

    def __init__(self, append: Callable[[Mark], None], now_ns: Callable[[], int]) -> None:
        self.append = append
        self.now_ns = now_ns
        self.count = 0
        self.total_ns = 0
        self.closer: CloserLook | None = None
        self.on_first_batch: Callable[[Any], None] | None = None
        self.on_error: Callable[[BaseException], None] = _ignore
        self.device: DeviceSteps | None = None

    def wrap(self, iterator: Any) -> "TimedPythonIterator":
        return TimedPythonIterator(iterator, self)

    def collect(self) -> None:
        """Nothing to collect: the marks are in the log."""

    def discard(self) -> None:
        """The log itself is thrown away."""

    def mean_ms(self) -> float | None:
        """Of a fetch so far. Where nothing runs ahead this is what a batch takes to make."""
        return self.total_ns / self.count / 1e6 if self.count else None

    def close(self) -> None:
        """An iterator of ours that is still in use appends to nothing any more."""
        self.append = _ignore
        self.closer = self.on_first_batch = self.device = None
        self.on_error = _ignore


class TimedPythonIterator:
    __slots__ = ("_fetches", "_iterator")

    def __init__(self, iterator: Iterator[Any], fetches: PythonFetches) -> None:
        self._iterator = iterator
        self._fetches = fetches

    def __iter__(self) -> "TimedPythonIterator":
        return self

    def __next__(self) -> Any:
        fetches = self._fetches
        closer = None if fetches.count % SAMPLE_EVERY else fetches.closer
        if closer is not None:
            closer.before_fetch()
        asked_ns = fetches.now_ns()
        fetches.append((asked_ns, ENTER, INPUT))
        if fetches.device is not None:
            fetches.device.asked(asked_ns)
        try:
            batch = next(self._iterator)
        except StopIteration:
            raise
        except BaseException as error:  # the user's own: noticed, and passed on untouched
            fetches.on_error(error)
            raise
        got_ns = fetches.now_ns()
        fetches.append((got_ns, GOT, leading_size(batch)))
        fetches.count += 1
        fetches.total_ns += got_ns - asked_ns
        if fetches.device is not None:
            fetches.device.got(got_ns)
        if closer is not None:
            closer.after_fetch(got_ns - asked_ns)
        if fetches.on_first_batch is not None:
            show, fetches.on_first_batch = fetches.on_first_batch, None
            _guard.run(show, batch)
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def _ignore(_: Any) -> None:
    return
