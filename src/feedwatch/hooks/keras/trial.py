"""A trial inside of Keras' fit: it begins in the call of the train function, and does not come back from it.

The loop around the train function is Keras' own in miniature: begin hooks, one call, end hooks. So no epoch ends,
nothing is validated, and whoever writes at the end of an epoch has nothing to write.
"""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import keras

from feedwatch.hooks.keras.watched_fit import WatchedFit
from feedwatch.hooks.sources import Again, Batches
from feedwatch.hooks.trial import Plan, TrialRun, only_as_it_is
from feedwatch.model.report import Report
from feedwatch.model.trial import Role, SettingValue
from feedwatch.model.verdict import Fix
from feedwatch.settings import TrialWish
from feedwatch.trial.board import Source
from feedwatch.trial.search import Chain, ListSearch, Search, WorkerSearch
from feedwatch.trial.variant import AS_IS, Refused, Variant, shown

# What writes for the user, by the name of a class or of one of its bases.
WRITERS: Final = ("ModelCheckpoint", "BackupAndRestore", "TensorBoard", "CSVLogger", "RemoteMonitor")
WRITING_NAMES: Final = ("Checkpoint", "Wandb", "MLflow", "Mlflow", "Neptune", "Comet", "ClearML")
# Hooks at which a callback of the user's own would write what it has collected.
ENDS: Final = ("on_epoch_end", "on_train_end", "on_test_end")
GENERATOR: Final = "a Python generator can be read only once: only its batches as they come are measured"
SEVERAL_DEVICES: Final = "a trial feeds one device: this fit has a distribution strategy"
STEPS_PER_EXECUTION: Final = "steps_per_execution"
STEPS: Final = 10
SHORT_STEP_MS: Final = 5.0
MOST_THREADS: Final = 16
# Batches that tf.data may have ready: it chooses the size of a buffer by itself, and adds one where none is written.
# Whenever one has run full and empty it becomes larger, and in a trial that is every turn.
MOST_READY: Final = 1000


def without_writers(callbacks: Sequence[Any], own: Any = None) -> list[Any]:
    """The same callbacks, as far as they do not write; the user's own keep their work in every step."""
    kept = [each for each in callbacks if each is own or not _writes(each)]
    return [each if each is own or _is_kerass(each) else StepsOnly(each) for each in kept]


def _writes(callback: Any) -> bool:
    names = [kind.__name__ for kind in type(callback).__mro__]
    return any(name in WRITERS or any(part in name for part in WRITING_NAMES) for name in names)


def _is_kerass(callback: Any) -> bool:
    return type(callback).__module__.startswith(("keras.", "feedwatch."))


class StepsOnly(keras.callbacks.Callback):  # type: ignore[misc]
    """A callback of the user's own that hears of no end at which it could write. The user's object stays as it is."""

    def __init__(self, callback: Any) -> None:
        super().__init__()
        self._callback = callback
        for name in dir(keras.callbacks.Callback):
            if name.startswith(("on_", "set_")) and name not in ENDS:
                setattr(self, name, getattr(callback, name))


class KerasTrial:
    def __init__(self, watched: WatchedFit, epoch_iterator: Any, callbacks: Any, model: Any, wish: TrialWish) -> None:
        self._watched, self._epochs, self._callbacks, self._model = watched, epoch_iterator, callbacks, model
        self._wish = wish
        self._plain = model.train_function
        self._backend = keras.backend.backend()
        self.trial = TrialRun(watched.run, wish)
        model.train_function = self._step

    def _step(self, *args: Any) -> Any:
        trial = self.trial
        if trial.board is None and not self._watched.run.closed and trial.due(data_ends=self._last_of_epoch()):
            trial.begin(lambda report: self._plan(args[-1], report))
            self._run(args)
        return self._plain(*args)

    def _last_of_epoch(self) -> bool:
        batches, seen = self._epochs.num_batches, self._epochs._steps_seen
        return bool(batches and seen >= batches - self._epochs.steps_per_execution)

    def _run(self, args: tuple[Any, ...]) -> None:
        """Until TrialOver is raised."""
        step, callbacks, state = 0, self._callbacks, args[0]
        while True:
            feed = self.trial.next()
            callbacks.on_train_batch_begin(step)
            if self._backend == "tensorflow":
                logs = self._call(feed)
                if logs is None:
                    continue
            elif self._backend == "jax":
                logs, state = self._plain(state, iter([feed]))
                self._keep(state)
            else:
                logs = self._plain([feed])
            callbacks.on_train_batch_end(step, logs)
            step += 1

    def _call(self, feed: "Feed") -> Any | None:
        """None: the data ended, or the variant raised."""
        import tensorflow as tf

        board = self.trial.board
        assert board is not None
        try:
            logs = (feed.function or self._plain)(feed.iterator)
        except (tf.errors.OutOfRangeError, StopIteration):
            board.ended()
            return None
        except Exception as error:
            board.failed(error)
            return None
        board.stepped()
        return logs

    def _keep(self, state: Any) -> None:
        """As Keras does, so that a callback may ask for the weights."""
        names = ("trainable_variables", "non_trainable_variables", "optimizer_variables", "metrics_variables")
        self._model._jax_state = dict(zip(names, state, strict=True))

    # -- what is tried ---------------------------------------------------------------------------

    def _plan(self, running: Any, report: Report | None) -> Plan:
        facts = self._watched.run.session.facts
        adapter = self._epochs.data_adapter
        kind = facts.pipeline.kind
        if self._backend == "tensorflow":
            plan = self._tf_plan(running, adapter, kind, report)
        else:
            # On torch Keras has fetched already: what runs is the epoch's own iterator.
            current = running if self._backend == "jax" else self._epochs._current_iterator
            plan = self._python_plan(current, adapter, kind, report)
        return plan

    def _python_plan(self, running: Any, adapter: Any, kind: str, report: Report | None) -> Plan:
        as_is = Batches(lambda: iter(self._epochs._get_iterator()), running)
        try:
            search, make, fix = self._search(adapter, kind, report)
        except Refused as why:
            return only_as_it_is(as_is, str(why))

        def open_source(variant: Variant) -> Source:
            if variant.role is not Role.VARIANT:
                return Again(as_is.last) if variant.role is Role.CEILING else as_is
            other = make(variant)
            return Batches(lambda: self._begin(other), end=lambda _: _quit(other))

        return self._made(search, open_source, fix, later=False)

    def _tf_plan(self, running: Any, adapter: Any, kind: str, report: Report | None) -> Plan:
        import tensorflow as tf

        from feedwatch.hooks.keras.tf_iterator import timed_like

        if not isinstance(self._epochs._distributed_dataset, tf.data.Dataset):
            raise Refused(SEVERAL_DEVICES)
        as_is = Feeds(lambda: iter(self._epochs._get_iterator()), running)

        def begun(other: Any) -> Any:
            return timed_like(self._begin(other), running)

        def open_source(variant: Variant) -> Source:
            if variant.role is Role.AS_IS:
                return as_is
            if variant.role is Role.CEILING:
                kept = tf.data.Dataset.from_tensors(_batch_of(as_is)).repeat()
                return Feeds(lambda: timed_like(iter(kept), running))
            if STEPS_PER_EXECUTION in variant.settings:
                return Feeds(
                    lambda: as_is.running, function=self._several(int(variant.settings[STEPS_PER_EXECUTION] or 1))
                )
            other = make(variant)
            return Feeds(lambda: begun(other), end=lambda _: _quit(other))

        try:
            search, make, fix = self._search(adapter, kind, report)
        except Refused as why:
            plan = only_as_it_is(as_is, str(why))
            return self._made(self._with_calls(plan.search, report), open_source, plan.fix, later=True, note=str(why))
        return self._made(self._with_calls(search, report), open_source, fix, later=True)

    def _made(
        self,
        search: Search,
        open_source: Callable[[Variant], Source],
        fix: Callable[[Variant], Fix | None],
        *,
        later: bool,
        note: str | None = None,
    ) -> Plan:
        facts = self._watched.run.session.facts
        loader, data = facts.pipeline.loader, facts.pipeline.pydataset
        lanes = max(1, loader.num_workers if loader is not None else data.workers if data is not None else 1)
        ahead = (loader.prefetch_factor or 0) if loader is not None else 2
        per_call = facts.run.steps_per_execution
        return Plan(
            search=search,
            open_source=open_source,
            fix=lambda variant: _compiled(variant) or fix(variant),
            as_is=Variant(AS_IS.name, Role.AS_IS, lanes=lanes, ahead=ahead, batches=per_call),
            epoch_batches=self._epochs.num_batches,
            later=later,
            notes=() if note is None else (note,),
        )

    def _search(
        self, adapter: Any, kind: str, report: Report | None
    ) -> "tuple[Search, Callable[[Variant], Any], Callable[[Variant], Fix | None]]":
        """Which variants there are, an adapter for each, and what to write for it. Raises Refused."""
        facts = self._watched.run.session.facts
        if kind == "tf.data":
            from feedwatch.hooks.tf_data.trial import TfPlan

            data = facts.pipeline.tf_data
            made = TfPlan(adapter._dataset, report, self._wish, None if data is None else data.elements_per_batch)
            return made.search(), lambda one: _with(adapter, "_dataset", made.dataset(one.settings)), made.fix
        if kind == "dataloader":
            from feedwatch.hooks.torch.trial import LoaderPlan
            from feedwatch.hooks.torch.variants import changed

            forks = self._backend != "jax"
            plan = LoaderPlan(adapter._dataloader, None, facts, report, self._wish, forks=forks)

            def changed_adapter(one: Variant) -> Any:
                plan.check(one)
                return _with(adapter, "_dataloader", changed(adapter._dataloader, one.settings))

            return plan.search(), changed_adapter, plan.fix
        if kind == "pydataset":
            pool = PoolPlan(adapter, report, self._wish, facts.host.cpu_budget, forks=self._backend != "jax")
            return pool.search(), pool.adapter, pool.fix
        if kind == "generator":
            raise Refused(GENERATOR)
        raise Refused(f"there is nothing to change in data of the kind {kind!r}")

    def _begin(self, adapter: Any) -> Iterator[Any]:
        """An epoch of a variant, as Keras begins one."""
        adapter.on_epoch_begin()
        epochs = copy.copy(self._epochs)
        vars(epochs).pop("_get_iterator", None)  # ours, of the run as it is
        epochs.data_adapter = adapter
        if self._backend == "tensorflow":
            epochs._distributed_dataset = adapter.get_tf_dataset()
        return iter(type(epochs)._get_iterator(epochs))

    # -- several steps per call ------------------------------------------------------------------

    def _with_calls(self, search: Search, report: Report | None) -> Search:
        asked = report is not None and any(each.code == "FW309" for each in report.findings)
        step_ms = None if report is None else report.verdict.step_ms
        short = (
            step_ms is not None
            and step_ms < SHORT_STEP_MS
            and self._watched.run.session.facts.run.steps_per_execution == 1
        )
        wanted = not self._wish.only or "FW309" in self._wish.only
        if not wanted or not (asked or short) or self._model.run_eagerly:
            return search
        settings: dict[str, SettingValue] = {STEPS_PER_EXECUTION: STEPS}
        several = Variant(shown(settings), settings=settings, codes=("FW309",), advised=asked, batches=STEPS)
        return Chain(search, lambda _: ListSearch([several], lambda helped: helped[0]))

    def _several(self, steps: int) -> Any:
        """Another train function of the same model; the one in use is put back."""
        model, current, before = self._model, self._model.train_function, self._model.steps_per_execution
        try:
            model.steps_per_execution = steps
            model.make_train_function(force=True)
            return model.train_function
        finally:
            model.steps_per_execution = before
            model.train_function = current


def _batch_of(feeds: "Feeds") -> Any:
    """One batch, past what is timed. Its epoch may be at its end."""
    import tensorflow as tf

    def taken() -> Any:
        return getattr(feeds.running, "_feedwatch_original", feeds.running).get_next()

    try:
        return taken()
    except tf.errors.OutOfRangeError:
        feeds.restart()
        return taken()


class Feed:
    """What one call of the train function gets."""

    __slots__ = ("function", "iterator")

    def __init__(self, iterator: Any, function: Any) -> None:
        self.iterator, self.function = iterator, function


class Feeds(Batches):
    """Hands out its iterator: on TensorFlow the compiled function fetches."""

    def __init__(
        self,
        start: Callable[[], Iterator[Any]],
        running: Any = None,
        end: Callable[[Any], None] = lambda _: None,
        function: Any = None,
    ) -> None:
        super().__init__(start, running, end)
        self._function = function

    @property
    def running(self) -> Any:
        if self._running is None:
            self._running = self._start()
        return self._running

    def next(self) -> Feed:
        return Feed(self.running, self._function)

    def skip(self, most: int, now_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        super().skip(max(most, MOST_READY), now_ns)

    def _throw_away(self) -> None:
        """Past what is timed."""
        import tensorflow as tf

        try:
            getattr(self.running, "_feedwatch_original", self.running).get_next()
        except tf.errors.OutOfRangeError:
            raise StopIteration from None


class PoolPlan:
    """A PyDataset with other workers: threads or processes."""

    def __init__(
        self, adapter: Any, report: Report | None, wish: TrialWish, cpus: float | None, *, forks: bool
    ) -> None:
        self._adapter, self._wish, self._forks = adapter, wish, forks
        self._data = adapter.py_dataset
        self._now = max(1, int(self._data.workers))
        self._cpus = cpus or 1.0
        self._findings = () if report is None else report.findings
        self._name = type(self._data).__name__

    def search(self) -> Search:
        if self._wish.only and "FW130" not in self._wish.only:
            return ListSearch([], lambda helped: helped[0])
        said = [each.evidence.get("workers_advised") for each in self._findings if each.code == "FW130"]
        advised = int(said[0]) if said and said[0] else None
        most = max(self._now, min(MOST_THREADS, int(4 * self._cpus)))
        threads = WorkerSearch(self._now, most, lambda count: self._pool(count, processes=False), advised, least=1)
        return Chain(threads, self._processes)

    def _processes(self, base: Variant | None) -> Search:
        count = max(2, round(self._cpus)) if base is None else int(base.settings["workers"] or 2)
        return ListSearch(
            [self._pool(max(1, count), processes=True)],
            lambda helped: helped[0],
            AS_IS.name if base is None else base.name,
        )

    def _pool(self, workers: int, *, processes: bool) -> Variant:
        settings: dict[str, SettingValue] = {"workers": workers, "use_multiprocessing": processes}
        advised = any(each.code == "FW130" and shown(settings) in each.title for each in self._findings)
        name = f"workers={workers}, {'processes' if processes else 'threads'}"
        queue = max(10, self._data.max_queue_size, 2 * workers)
        ahead = -(-queue // max(1, workers))
        return Variant(name, settings=settings, codes=("FW130",), advised=advised, lanes=max(1, workers), ahead=ahead)

    def adapter(self, variant: Variant) -> Any:
        processes = bool(variant.settings["use_multiprocessing"])
        if processes and not self._forks:
            raise Refused("processes are forked, and JAX has threads of its own: a fork may hang")
        workers = int(variant.settings["workers"] or 1)
        twin = copy.copy(self._data)
        twin._workers, twin._use_multiprocessing = workers, processes
        twin._max_queue_size = max(10, self._data.max_queue_size, 2 * workers)
        made = type(self._adapter)(twin, self._adapter.class_weight, self._adapter.shuffle)
        made._output_signature = self._adapter._output_signature
        return made

    def fix(self, variant: Variant) -> Fix:
        workers, processes = variant.settings["workers"], variant.settings["use_multiprocessing"]
        before = f"data = {self._name}(...)  # workers={self._data.workers}"
        return Fix(before, f"data.workers = {workers}\ndata.use_multiprocessing = {processes}  # a {self._name}")


def _with(adapter: Any, name: str, value: Any) -> Any:
    twin = copy.copy(adapter)
    setattr(twin, name, value)
    return twin


def _quit(adapter: Any) -> None:
    adapter.on_epoch_end()


def _compiled(variant: Variant) -> Fix | None:
    steps = variant.settings.get(STEPS_PER_EXECUTION)
    return None if steps is None else Fix("model.compile(...)", f"model.compile(..., steps_per_execution={steps})")
