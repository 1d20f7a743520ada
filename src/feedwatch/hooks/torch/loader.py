"""A DataLoader under observation: its settings, its data set, its times, and the facts that rules know of it.

Settings and data set are read from attributes only: nothing is iterated and no item is read.
"""

import multiprocessing
import sys
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Any, Final

import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
)

from feedwatch.guard import Guard
from feedwatch.hooks.streams import read_stream, shown_stream, stream_facts, with_hub_dataset
from feedwatch.hooks.torch.batch import BatchPeek, peek
from feedwatch.hooks.torch.data_code import DataCode, read_code, shuffles
from feedwatch.hooks.torch.queue import SampledFetches
from feedwatch.hooks.torch.unwrap import opaque, unwrap
from feedwatch.hooks.torch.worker_processes import WorkerProcesses
from feedwatch.hooks.torch.worker_tap import CollateTap
from feedwatch.hooks.torch.workers import WorkerTable, fold_workers
from feedwatch.model.facts import BatchFacts
from feedwatch.model.pipeline import LoaderFacts, Made, PipelineFacts, Stage
from feedwatch.model.report import SettingValue
from feedwatch.model.stream import StreamFacts
from feedwatch.session import FactPatch, Session
from feedwatch.words import count, ms

MAX_ATTRIBUTES: Final = 200
# An array with one row per item, but far smaller than the items, is an index or the labels, not the data.
LEAST_HELD_SHARE: Final = 0.2
# Without workers collate is timed on the training thread: in the first batches, and then in one of so many.
TIMED_AT_FIRST: Final = 8
TIMED_EVERY: Final = 7
# They give as many indices as they say.
_PLAIN_SAMPLERS: Final = (RandomSampler, SequentialSampler, DistributedSampler)


# -- settings ------------------------------------------------------------------------------------


def read_settings(loader: Any) -> LoaderFacts:
    dataset = getattr(loader, "dataset", None)
    workers = int(getattr(loader, "num_workers", 0) or 0)
    facts = LoaderFacts(
        num_workers=workers,
        prefetch_factor=getattr(loader, "prefetch_factor", None),
        persistent_workers=bool(getattr(loader, "persistent_workers", False)),
        pin_memory=bool(getattr(loader, "pin_memory", False)),
        batch_size=_batch_size(loader),
        class_name=type(loader).__name__,
        start_method=start_method(loader) if workers else None,
        iterable=isinstance(dataset, IterableDataset),
        batched_getitems=hasattr(dataset, "__getitems__"),
        dataset_len=_length(dataset),
        dataset_name=None if dataset is None else type(dataset).__name__,
        custom_collate=custom_collate(getattr(loader, "collate_fn", None)),
        shuffle=shuffles(loader),
        math_threads=torch.get_num_threads(),
    )
    return with_hub_dataset(facts, dataset)


def start_method(loader: Any) -> str | None:
    context = getattr(loader, "multiprocessing_context", None)
    if context is None:
        # With allow_none the question does not fix the method for the whole process. The first of all start methods
        # is the platform's default.
        return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    return str(context.get_start_method())


def custom_collate(collate: Any) -> str | None:
    """The name of the user's own collate function, None for torch's."""
    if collate is None or (getattr(collate, "__module__", None) or "").startswith("torch.utils.data"):
        return None
    return str(getattr(collate, "__name__", type(collate).__name__))


def _batch_size(loader: Any) -> int | None:
    size = getattr(loader, "batch_size", None)
    if size is None:
        size = getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    return int(size) if isinstance(size, int) else None


def _length(dataset: Any) -> int | None:
    if isinstance(dataset, IterableDataset):
        return None  # its __len__ is the user's claim, and may be expensive
    try:
        return len(dataset)
    except Exception:
        return None


# -- the data set: does it sit in memory? --------------------------------------------------------


# Rows that a data set holds for each item it gives out. More of them are not its items.
MOST_ROWS: Final = 2


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    held_bytes: int | None = None  # tensors and arrays with one row per item, of the rows that are items
    static_items: bool | None = None
    on_device: bool | None = None


def read_dataset(dataset: Any) -> DatasetFacts:
    if isinstance(dataset, Subset):
        return read_dataset(dataset.dataset)
    if isinstance(dataset, ConcatDataset):
        parts = [read_dataset(part) for part in dataset.datasets]
        held = [part.held_bytes for part in parts]
        known = [each for each in held if each is not None]
        static = all(part.static_items is True for part in parts) or None
        return DatasetFacts(sum(known) if len(known) == len(held) else None, static)
    if isinstance(dataset, TensorDataset):
        tensors = dataset.tensors
        away = any(tensor.device.type != "cpu" for tensor in tensors)
        return DatasetFacts(sum(tensor.nbytes for tensor in tensors), static_items=True, on_device=away)
    return DatasetFacts(_held_bytes(dataset))


def in_memory(facts: DatasetFacts, items: int | None, item_bytes: float | None) -> bool | None:
    """True when what the data set holds is about as large as what it gives out."""
    if facts.held_bytes is None or not items or item_bytes is None:
        return None
    return facts.held_bytes / items >= LEAST_HELD_SHARE * item_bytes


def _held_bytes(dataset: Any) -> int | None:
    try:
        items = len(dataset)
        attributes = list(vars(dataset).values())[:MAX_ATTRIBUTES]
    except Exception:
        return None
    return sum(_row_bytes(value, items) for value in attributes)


def _row_bytes(value: Any, items: int) -> int:
    numpy = sys.modules.get("numpy")
    tensor = isinstance(value, torch.Tensor)
    array = numpy is not None and isinstance(value, numpy.ndarray) and not isinstance(value, numpy.memmap)
    if not (tensor or array) or not value.ndim:
        return 0
    # A length that was rounded down to whole batches, or by the length of a window, leaves some rows out.
    rows = int(value.shape[0])
    return int(value.nbytes) * items // rows if 0 < items <= rows <= MOST_ROWS * items else 0


# -- the loader while it is used -----------------------------------------------------------------


class WatchedLoader:
    """Made before the loader's workers start: a worker that already runs carries no tap."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self.settings: LoaderFacts = read_settings(loader)
        self.dataset: DatasetFacts = read_dataset(getattr(loader, "dataset", None))
        self.table: WorkerTable | None = None
        # Batch n is made by worker n modulo the workers, unless a worker may run out of data or overtake the others.
        self.in_turn = not self.settings.iterable and getattr(loader, "in_order", True) is True
        self.local: LocalCollateTap | None = None
        self.ended = False
        self.processes = WorkerProcesses()
        self._code: DataCode | None = None
        self._tap: Any = None

    def watches(self, loader: Any) -> bool:
        return self._loader is loader

    def code(self) -> DataCode:
        """Read once, by the sink's thread."""
        if self._code is None:
            loader = self._loader  # taken once: the run may end while this reads
            dataset = getattr(loader, "dataset", None)
            # Where a framework makes the loader, the user's call is the one of its arguments.
            made_by = self.settings.argument_names.get("") or self.settings.class_name
            self._code = DataCode() if dataset is None else read_code(dataset, made_by)
        return self._code

    def install(self) -> None:
        collate = getattr(self._loader, "collate_fn", None)
        if collate is None or isinstance(collate, (CollateTap, LocalCollateTap)):
            return
        if self.settings.num_workers:
            inherited = self.settings.start_method == "fork"
            self.table = WorkerTable(self.settings.num_workers, inherited=inherited)
            self._tap = CollateTap(self.table, collate)
        else:
            self._tap = self.local = LocalCollateTap(collate)
        self._loader.collate_fn = self._tap

    def end(self) -> None:
        """Give the loader back as it was. The figures stay readable."""
        if self.ended:
            return
        self.ended = True
        loader, self._loader = self._loader, None  # its workers live as long as somebody holds it
        if self._tap is not None and loader.collate_fn is self._tap:
            loader.collate_fn = self._tap.collate
        self._tap = None
        if self.table is not None:
            self.table.unlink()


class LocalCollateTap:
    """Without workers collate runs in the training thread, inside the fetch. Its attributes are the original's."""

    def __init__(self, collate: Any) -> None:
        self.collate = collate
        self.batches = 0  # that were timed
        self.total_ns = 0
        # On a class with __getattr__ looking up `self.collate` takes as long as a mark: one look-up per call.
        self._call = collate, [0]

    def __call__(self, data: Any) -> Any:
        collate, calls = self._call
        calls[0] += 1
        if calls[0] > TIMED_AT_FIRST and calls[0] % TIMED_EVERY:
            return collate(data)
        began_ns = perf_counter_ns()
        batch = collate(data)
        self.total_ns += perf_counter_ns() - began_ns
        self.batches += 1
        return batch

    def __getattr__(self, name: str) -> Any:
        if name in ("collate", "_call") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.collate, name)

    @property
    def mean_ms(self) -> float | None:
        return self.total_ns / self.batches / 1e6 if self.batches else None


# -- settings and times as facts -----------------------------------------------------------------


class TrainLoaders:
    """The loaders that feed one run, and one look at one of their batches: the same for every hook on torch."""

    def __init__(self, session: Session) -> None:
        self.batch_size: int | None = None
        self.fetches = SampledFetches(Guard("the loader's queue gauge", session.note))
        # Name of the user's own transfer hook, and whether copies do not block; see hooks/torch/batch.py.
        self.transfer: tuple[str | None, bool | None] = (None, None)
        # What the user writes for a DataLoader's arguments, where a framework makes the loader; see LoaderFacts.
        self.argument_names: dict[str, str] = {}
        self._session = session
        self._loaders: list[WatchedLoader] = []
        self._stream: StreamFacts | None = None
        self._opaque: str | None = None
        self._peek: BatchPeek | None = None
        self._batch: BatchFacts | None = None
        session.made_batches = self.made

    def made(self) -> list[Made]:
        """What the workers made lately. A script may make a loader for every epoch: the one in use counts. Of several
        in use at once nobody knows which batch is whose.
        """
        known = [each.table.made(in_turn=each.in_turn) for each in self._loaders if each.table is not None]
        used = sorted((made for made in known if made), key=lambda made: max(each.end_ns for each in made))
        if len(used) > 1 and max(each.end_ns for each in used[-2]) > min(each.begin_ns for each in used[-1]):
            return []
        return used[-1] if used else []

    def see(self, loader: Any) -> None:
        """Before its workers start. What wraps a DataLoader is looked through."""
        found = unwrap(loader)
        self._stream = self._stream or read_stream(*(getattr(each, "dataset", None) for each in found.loaders), loader)
        if not found.loaders and self._stream is None:
            self._opaque = opaque(loader)
        for each in found.loaders:
            self._see_one(each, found.one_rank_loads)

    def _see_one(self, loader: Any, one_rank_loads: bool | None) -> None:
        if any(each.watches(loader) for each in self._loaders):
            return
        watched = WatchedLoader(loader)
        watched.settings = replace(
            watched.settings, one_rank_loads=one_rank_loads, argument_names=dict(self.argument_names)
        )
        self._loaders = [*self._loaders, watched]
        watched.install()
        settings = watched.settings
        self.batch_size = settings.batch_size
        self._session.least_steps_per_window(2 * settings.num_workers * (settings.prefetch_factor or 1))

    def sure_samples(self, loader: Any) -> tuple[int, int | None]:
        """So many batches are filled by torch's own sampler and stacked by its own collate, with so many samples."""
        watched = next((each for each in self._loaders if each.watches(loader)), None)
        if watched is None or watched.settings.custom_collate is not None or watched.settings.iterable:
            return 0, None
        size = watched.settings.batch_size
        if (
            not size
            or type(loader.batch_sampler) is not BatchSampler
            or not isinstance(loader.sampler, _PLAIN_SAMPLERS)
        ):
            return 0, None
        return len(loader.sampler) // size, size

    def replaced(self) -> None:
        """New loaders come: these are given back now, not at the end of the run."""
        self.end()
        self._loaders, self._stream, self._opaque = [], None, None

    def look_at(self, batch: Any) -> None:
        """The first batch as it leaves the loader. Later ones are not looked at."""
        if self._peek is None:
            self._peek = peek(batch, self._session.facts.run.device_kind)

    def read(self) -> FactPatch:
        """On the sink's thread."""
        if self._batch is None and self._peek is not None:
            name, non_blocking = self.transfer
            self._batch = replace(self._peek.judged(), custom_transfer=name, non_blocking=non_blocking)
        facts: dict[str, Any] = {"batch": self._batch}
        run = self._session.facts.run
        if run.batch_size != self.batch_size:
            facts["run"] = replace(run, batch_size=self.batch_size)
        pipeline = self._pipeline()
        if pipeline is not None:
            facts["pipeline"] = pipeline
        return facts

    def _pipeline(self) -> PipelineFacts | None:
        if self._loaders:
            known = pipeline_facts(self._loaders, self.fetches, self._batch)
            settings = {**known.settings, **({} if self._stream is None else shown_stream(self._stream))}
            return replace(known, stream=self._stream, opaque=self._opaque, settings=settings)
        if self._stream is not None:
            return stream_facts(self._stream)
        return None if self._opaque is None else PipelineFacts("iterable", opaque=self._opaque)

    def end(self) -> None:
        """The loaders forget us; their figures stay."""
        for watched in self._loaders:
            watched.end()


def pipeline_facts(loaders: list[WatchedLoader], fetches: SampledFetches, batch: BatchFacts | None) -> PipelineFacts:
    """Several loaders may feed one step together; the facts are those of the loader that supplies slowest."""
    facts = [_with_dataset(loader, _measured(loader, fetches), batch) for loader in loaders]
    slowest = max(facts, key=lambda each: (each.load_ms or 0.0) / max(1, each.num_workers))
    return PipelineFacts(
        kind="dataloader",
        loader=slowest,
        load_ms=slowest.load_ms,
        lanes=float(max(1, slowest.num_workers)),
        stages=_stages(slowest),
        settings={**_shown_settings(slowest), **_shown_members(facts, slowest)},
        members=tuple(facts) if len(facts) > 1 else (),
    )


def _measured(loader: WatchedLoader, fetches: SampledFetches) -> LoaderFacts:
    settings, gauge = replace(loader.settings, sampler_ms=fetches.draws.mean_ms), fetches.gauge
    if loader.table is not None:
        rows = loader.table.rows()
        fold = fold_workers(rows)
        loader.processes.look(rows)
        return replace(
            settings,
            load_ms=fold.load_ms,
            item_ms=fold.item_ms,
            item_p99_ms=fold.item_p99_ms,
            collate_ms=fold.collate_ms,
            cpu_share=fold.cpu_share,
            core_wait_share=fold.core_wait_share,
            blocked_share=fold.blocked_share,
            delivery_ms=gauge.delivery_ms,
            ready_share=gauge.ready_share,
            workers_repeat_items=fold.repeat_items if settings.iterable else None,
            workers=fold.workers,
            worker_extra_cpu_ms=loader.processes.extra_cpu_ms,
            worker_rss_mb=loader.processes.own_mb,
        )
    if settings.num_workers:
        return settings
    load_ms, share = fetches.fetch_ms, fetches.cpu_share
    collate_ms = loader.local.mean_ms if loader.local is not None else None
    return replace(
        settings,
        load_ms=load_ms,
        collate_ms=collate_ms,
        item_ms=_item_ms(load_ms, collate_ms, settings.batch_size),
        cpu_share=share,
        blocked_share=None if share is None else 1 - share,
    )


def _item_ms(load_ms: float | None, collate_ms: float | None, batch_size: int | None) -> float | None:
    """The mean: with the loader in the training thread single items are not timed."""
    if load_ms is None or collate_ms is None or not batch_size:
        return None
    return max(0.0, load_ms - collate_ms) / batch_size


def _with_dataset(loader: WatchedLoader, facts: LoaderFacts, batch: BatchFacts | None) -> LoaderFacts:
    held, code = loader.dataset, loader.code()
    item_bytes = batch.size_bytes / facts.batch_size if batch is not None and facts.batch_size else None
    return replace(
        facts,
        dataset_bytes=held.held_bytes or None,
        in_memory=None if facts.iterable else in_memory(held, facts.dataset_len, item_bytes),
        static_items=held.static_items,
        random_items=code.random_items,
        shards_itself=code.shards_itself,
        call_site=code.call_site,
        device_tensors=None if batch is None else batch.device != "cpu" or held.on_device is True,
    )


def _stages(loader: LoaderFacts) -> tuple[Stage, ...]:
    if loader.load_ms is None:
        return ()
    collate_ms = loader.collate_ms or 0.0
    parts = [
        ("items", loader.dataset_name or "", max(0.0, loader.load_ms - collate_ms)),
        ("collate", loader.custom_collate or "default", loader.collate_ms),
        ("delivery", "handing over a ready batch", loader.delivery_ms),
    ]
    known = [(name, detail, ms) for name, detail, ms in parts if ms is not None]
    whole = sum(ms for _, _, ms in known)
    largest = max(ms for _, _, ms in known)
    return tuple(
        Stage(
            name,
            detail,
            ms_per_batch=ms,
            parallelism=1 if name == "delivery" else max(1, loader.num_workers),
            tunable=False,
            share=ms / whole if whole > 0 else None,
            bottleneck=ms == largest,
        )
        for name, detail, ms in known
    )


def _shown_settings(loader: LoaderFacts) -> dict[str, SettingValue]:
    known = {
        "format": loader.dataset_format,
        "indices_mapping": loader.indices_mapping,
        "shards": loader.dataset_shards,
        "one_rank_loads": loader.one_rank_loads,
    }
    return {
        "num_workers": loader.num_workers,
        "prefetch_factor": loader.prefetch_factor,
        "persistent_workers": loader.persistent_workers,
        "pin_memory": loader.pin_memory,
        "batch_size": loader.batch_size,
        "dataset": loader.dataset_name,
        "collate_fn": loader.custom_collate or "default",
        "start_method": loader.start_method,
        **{name: value for name, value in known.items() if value is not None},
    }


def _shown_members(members: list[LoaderFacts], slowest: LoaderFacts) -> dict[str, SettingValue]:
    """Several loaders that feed one step: each by itself, and which of them everything else here is about."""
    if len(members) < 2:
        return {}
    # Without workers a batch is made inside the fetch, and the fetches of two such loaders are one.
    apart = sum(not each.num_workers for each in members) == 1
    shown: dict[str, SettingValue] = {"loaders": len(members)}
    for place, each in enumerate(members, start=1):
        load_ms = each.load_ms if each.num_workers or apart else None
        role = ", the slowest: settings and advice are about it" if each is slowest else ""
        name = each.dataset_name or each.class_name
        shown[f"loader_{place}"] = f"{name}: {count(each.num_workers, 'worker')}, {ms(load_ms)} per batch{role}"
    return shown
