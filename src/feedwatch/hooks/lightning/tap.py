"""The tap: instance attributes on the user's own profiler, whose identity, type and `describe()` stay.

Lightning names everything it does to its profiler, also when the user has none. We listen there, and hand every name
on to the profiler it was meant for. There are more than twenty names in a step, so every call counts: `profile` is a
dictionary's own lookup, a name that says nothing to us gets a context without any Python code, and a name that does
appends a tuple on each side.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from feedwatch.guard import Guard
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.meter import DeviceMeter
from feedwatch.hooks.torch.queue import SampledFetches
from feedwatch.hooks.undo import Undo
from feedwatch.measure.marks import COMPUTE, ENTER, FIRST_NAMED, GOT, H2D, INPUT, LEAVE
from feedwatch.measure.sketch import Sketch
from feedwatch.measure.steps import Habit
from feedwatch.model.facts import CallbackTime

FETCH: Final = "train_dataloader_next"
STEP: Final = "run_training_batch"
# The copy proper: `batch_to_device` around it also runs the user's transfer hooks.
COPY: Final = "transfer_batch_to_device"
# The user's work on a batch that has arrived, augmentation on the device for instance: it is part of the step.
PREPARE: Final = "on_after_batch_transfer"
CALLBACK: Final = "[Callback]"
OWN_HOOK: Final = "on_train_batch_end"
# Lightning has about a hundred names. A user who makes a new one at every step must not fill the memory.
MOST_NAMES: Final = 4096

StartOrStop = Callable[[str], Any]  # of a profiler


class Nothing:
    """A context that does nothing. An empty string's `format` takes any arguments and returns an empty string, which is
    false: there is no Python frame on either side.
    """

    __slots__ = ()
    __enter__ = "".format
    __exit__ = "".format


NOTHING: Final = Nothing()


class Span:
    """A context of two marks. One object serves every entry, nested ones too: it holds no state."""

    __slots__ = ("_append", "_category", "_now_ns")

    def __init__(self, run: WatchedRun, category: int) -> None:
        self._append, self._now_ns, self._category = run.append, run.now_ns, category

    def __enter__(self) -> None:
        self._append((self._now_ns(), ENTER, self._category))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._append((self._now_ns(), LEAVE, self._category))


class FetchSpan(Span):
    __slots__ = ()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._append((self._now_ns(), GOT, None))


class DeviceSpan:
    """The same two marks, and two on the device's clock. What the device says may fail, unlike an append."""

    __slots__ = ("_append", "_category", "_guard", "_leave", "_meter", "_now_ns")

    def __init__(self, run: WatchedRun, category: int, meter: DeviceMeter) -> None:
        self._append, self._now_ns, self._guard = run.append, run.now_ns, run.guard
        self._category, self._meter = category, meter
        self._leave = (GOT, None) if category == INPUT else (LEAVE, category)

    def __enter__(self) -> None:
        ns = self._now_ns()
        self._guard.run(self._meter.enter, self._category, ns)
        self._append((ns, ENTER, self._category))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        ns = self._now_ns()
        self._append((ns, *self._leave))
        self._guard.run(self._meter.leave, self._category, ns)


class SampledFetch:
    """The fetch of a sampled step: its queue and its CPU time are looked at as well."""

    __slots__ = ("_began_ns", "_fetches", "_now_ns", "_span")

    def __init__(self, run: WatchedRun, span: Any, fetches: SampledFetches) -> None:
        self._span, self._fetches, self._now_ns, self._began_ns = span, fetches, run.now_ns, 0

    def __enter__(self) -> None:
        self._fetches.before_fetch()
        self._began_ns = self._now_ns()
        self._span.__enter__()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._span.__exit__(kind, error, trace)
        self._fetches.after_fetch(self._now_ns() - self._began_ns)


class OwnHook:
    """Our own hook in a sampled step: what it takes is our cost."""

    __slots__ = ("_began_ns", "_now_ns", "_took_ns")

    def __init__(self, run: WatchedRun, took_ns: Sketch) -> None:
        self._now_ns, self._took_ns, self._began_ns = run.now_ns, took_ns, 0

    def __enter__(self) -> None:
        self._began_ns = self._now_ns()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._began_ns:
            self._took_ns.add(self._now_ns() - self._began_ns)
            self._began_ns = 0


class Both:
    """The user's profiler inside, our context around it."""

    __slots__ = ("_name", "_ours", "_start", "_stop")

    def __init__(self, ours: Any, start: StartOrStop, stop: StartOrStop, name: str) -> None:
        self._ours, self._start, self._stop, self._name = ours, start, stop, name

    def __enter__(self) -> str:
        self._ours.__enter__()
        self._start(self._name)
        return self._name

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            self._stop(self._name)
        finally:
            self._ours.__exit__(kind, error, trace)


class Names:
    """Numbers for the user's callbacks and loggers: their marks carry a number, the report shows a name."""

    def __init__(self) -> None:
        self._names: list[tuple[str, str]] = []

    def number(self, kind: str, name: str) -> int:
        if (kind, name) not in self._names:
            self._names.append((kind, name))
        return FIRST_NAMED + self._names.index((kind, name))

    def times(self, habits: list[Habit]) -> tuple[CallbackTime, ...]:
        """Validation and epoch ends are not in here."""
        rows = zip(self._names, habits, strict=False)
        return tuple(
            CallbackTime(name, ms_per_step=habit.ms_per_step, every=habit.every)
            for (_, name), habit in rows
            if habit.ms_per_step > 0
        )


class _Pair(NamedTuple):
    usual: Any
    sampled: Any


class Tap(dict[str, Any]):
    """Name → the context to enter for it. What a name means is found out when it is first seen."""

    def __init__(
        self,
        run: WatchedRun,
        names: Names,
        callbacks: list[Any],
        own: Any,
        *,
        fetches: SampledFetches,
        meter: DeviceMeter | None,
        prepares: bool = False,
    ) -> None:
        """`callbacks`: the Trainer's. `own`: ours among them. `prepares`: the user has a PREPARE hook."""
        super().__init__()
        self.seen: set[str] = set()  # of FETCH and STEP, what this Lightning names
        self._run, self._names, self._callbacks, self._own = run, names, callbacks, own
        self._fetches, self._meter, self._prepares = fetches, meter, prepares
        self._guard = Guard("listening to Lightning's profiler", run.session.note)
        self._theirs: tuple[StartOrStop, StartOrStop] | None = None  # of a profiler that does something
        self._before_quiet: dict[str, Any] | None = None
        self._pairs: dict[str, _Pair] = {}
        self._own_hook_ns = Sketch()

    def install(self, profiler: Any, undo: Undo) -> None:
        if type(profiler).__name__ != "PassThroughProfiler":
            self._theirs = profiler.start, profiler.stop

        def start(name: str) -> None:
            self[name].__enter__()

        def stop(name: str) -> None:
            self[name].__exit__(None, None, None)

        undo.set(profiler, "start", start)
        undo.set(profiler, "stop", stop)
        if _has_plain_profile(profiler):
            # The inherited `profile` is a generator that calls start and stop; this does the same for less.
            undo.set(profiler, "profile", self.__getitem__)

    def __missing__(self, name: str) -> Any:
        quiet = self._before_quiet is not None
        context = self._with_theirs(name, NOTHING if quiet else self._guard.run(self.context_of, name) or NOTHING)
        if len(self) < MOST_NAMES:
            self[name] = context
        return context

    def forget(self) -> None:
        """The fit has ended: the callbacks and the profiler are no longer held."""
        self.clear()
        self._pairs.clear()
        self._callbacks, self._own, self._theirs, self._before_quiet = [], None, None, None

    # -- validation ------------------------------------------------------------------------------

    def quiet(self) -> None:
        """Validation is one lump and may be longer than training: nothing in it is marked, so nothing can pile up."""
        if self._before_quiet is None:
            self._before_quiet = dict(self)
            self.clear()

    def listen(self) -> None:
        if self._before_quiet is not None:
            self.clear()
            self.update(self._before_quiet)
            self._before_quiet = None

    # -- sampled steps ---------------------------------------------------------------------------

    def sample(self) -> None:
        """The next step is looked at more closely."""
        for name, pair in self._pairs.items():
            self[name] = pair.sampled

    def unsample(self) -> None:
        for name, pair in self._pairs.items():
            self[name] = pair.usual

    @property
    def own_hook_ns(self) -> float | None:
        """What a call of our own hook takes. The median: somebody else may take the core meanwhile."""
        return self._own_hook_ns.quantile(0.5)

    # -- what a name means -----------------------------------------------------------------------

    def context_of(self, name: str) -> Any | None:
        """None: nothing to us."""
        if name.endswith(FETCH):
            self.seen.add(FETCH)
            span = FetchSpan(self._run, INPUT) if self._meter is None else DeviceSpan(self._run, INPUT, self._meter)
            return self._in_pair(name, span, SampledFetch(self._run, span, self._fetches))
        if name == STEP:
            self.seen.add(STEP)
            return self._phase(COMPUTE)
        if name.endswith(COPY):
            return self._phase(H2D)
        if self._prepares and name.endswith(PREPARE):
            return self._phase(COMPUTE)
        if name.startswith(CALLBACK):
            return self._callback_context(name)
        return None

    def _phase(self, category: int) -> Any:
        return Span(self._run, category) if self._meter is None else DeviceSpan(self._run, category, self._meter)

    def _callback_context(self, name: str) -> Any | None:
        hook = name.rpartition(".")[2]
        theirs = [each for each in self._callbacks if name == f"{CALLBACK}{each.state_key}.{hook}"]
        if any(each is self._own for each in theirs):
            return self._in_pair(name, NOTHING, OwnHook(self._run, self._own_hook_ns)) if hook == OWN_HOOK else None
        if theirs and not any(_overrides(each, hook) for each in theirs):
            return None  # Lightning calls the empty hook of its base class
        return Span(self._run, self._names.number(CALLBACK, callback_name(name)))

    def _in_pair(self, name: str, usual: Any, sampled: Any) -> Any:
        self._pairs[name] = _Pair(self._with_theirs(name, usual), self._with_theirs(name, sampled))
        return usual

    def _with_theirs(self, name: str, ours: Any) -> Any:
        return ours if self._theirs is None else Both(ours, *self._theirs, name)


def callback_name(action: str) -> str:
    """`[Callback]ModelCheckpoint{'monitor': None}.on_train_batch_end` → `ModelCheckpoint`."""
    key = action.removeprefix(CALLBACK).partition("{")[0]
    return key.rpartition(".")[0].rpartition(".")[2] if "{" not in action else key.rpartition(".")[2]


def _overrides(callback: Any, hook: str) -> bool:
    if hook in vars(callback):
        return True
    owner = next((kind for kind in type(callback).__mro__ if hook in vars(kind)), None)
    return owner is not None and owner.__name__ != "Callback"


def _has_plain_profile(profiler: Any) -> bool:
    base = next((kind for kind in type(profiler).__mro__ if kind.__name__ == "Profiler"), None)
    return base is not None and getattr(type(profiler), "profile", None) is getattr(base, "profile", None)
