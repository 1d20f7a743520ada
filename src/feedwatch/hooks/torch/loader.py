"""A DataLoader under observation: its settings, its data set, its times, and the facts that rules know of it.

Settings and data set are read from attributes only: nothing is iterated and no item is read.
"""

import multiprocessing
import sys
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Any, Final

import torch
from torch.utils.data import ConcatDataset, DataLoader, IterableDataset, Subset, TensorDataset

from feedwatch.guard import Guard
from feedwatch.hooks.torch.batch import BatchPeek, peek
from feedwatch.hooks.torch.queue import SampledFetches
from feedwatch.hooks.torch.worker_tap import CollateTap
from feedwatch.hooks.torch.workers import WorkerTable, fold_workers
from feedwatch.model.facts import BatchFacts
from feedwatch.model.pipeline import LoaderFacts, PipelineFacts, Stage
from feedwatch.session import FactPatch, Session

MAX_ATTRIBUTES: Final = 200
# An array with one row per item, but far smaller than the items, is an index or the labels, not the data.
LEAST_HELD_SHARE: Final = 0.2


# -- settings ------------------------------------------------------------------------------------


def read_settings(loader: Any) -> LoaderFacts:
    dataset = getattr(loader, "dataset", None)
    workers = int(getattr(loader, "num_workers", 0) or 0)
    return LoaderFacts(
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
    )


def start_method(loader: Any) -> str | None:
    context = getattr(loader, "multiprocessing_context", None)
    if context is None:
        # With allow_none the question does not fix the method for the whole process. The first of all start methods
        # is the platform's default.
        return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    return str(context.get_start_method())


def custom_collate(collate: Any) -> str | None:
    """The name of the user's own collate function, None for torch's."""
    if collate is None or getattr(collate, "__module__", "").startswith("torch.utils.data"):
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


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    held_bytes: int | None = None  # tensors and arrays with one row per item
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
    if isinstance(value, torch.Tensor):
        return value.nbytes if value.dim() and value.shape[0] == items else 0
    if numpy is not None and isinstance(value, numpy.ndarray) and not isinstance(value, numpy.memmap):
        return int(value.nbytes) if value.ndim and value.shape[0] == items else 0
    return 0


# -- the loader while it is used -----------------------------------------------------------------


class WatchedLoader:
    """Made before the loader's workers start: a worker that already runs carries no tap."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self.settings: LoaderFacts = read_settings(loader)
        self.dataset: DatasetFacts = read_dataset(getattr(loader, "dataset", None))
        self.table: WorkerTable | None = None
        self.local: LocalCollateTap | None = None
        self.ended = False
        self._tap: Any = None

    def watches(self, loader: Any) -> bool:
        return self._loader is loader

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
    """Without workers collate runs in the training thread, inside the fetch."""

    def __init__(self, collate: Any) -> None:
        self.collate = collate
        self.batches = 0
        self.total_ns = 0

    def __call__(self, data: Any) -> Any:
        began_ns = perf_counter_ns()
        batch = self.collate(data)
        self.total_ns += perf_counter_ns() - began_ns
        self.batches += 1
        return batch

    def __getattr__(self, name: str) -> Any:
        if name == "collate" or name.startswith("__"):
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
        self._session = session
        self._loaders: list[WatchedLoader] = []
        self._peek: BatchPeek | None = None
        self._batch: BatchFacts | None = None

    def see(self, loader: Any) -> None:
        """Before its workers start."""
        if not isinstance(loader, DataLoader) or any(each.watches(loader) for each in self._loaders):
            return
        watched = WatchedLoader(loader)
        self._loaders = [*self._loaders, watched]
        watched.install()
        settings = watched.settings
        self.batch_size = settings.batch_size
        self._session.least_steps_per_window(2 * settings.num_workers * (settings.prefetch_factor or 1))

    def replaced(self) -> None:
        """New loaders come: these are given back now, not at the end of the run."""
        self.end()
        self._loaders = []

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
        if self._loaders:
            facts["pipeline"] = pipeline_facts(self._loaders, self.fetches, self._batch)
        return facts

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
        settings=_shown_settings(slowest, len(loaders)),
    )


def _measured(loader: WatchedLoader, fetches: SampledFetches) -> LoaderFacts:
    settings, gauge = loader.settings, fetches.gauge
    if loader.table is not None:
        fold = fold_workers(loader.table.rows())
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
    held = loader.dataset
    item_bytes = batch.size_bytes / facts.batch_size if batch is not None and facts.batch_size else None
    return replace(
        facts,
        dataset_bytes=held.held_bytes or None,
        in_memory=None if facts.iterable else in_memory(held, facts.dataset_len, item_bytes),
        static_items=held.static_items,
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


def _shown_settings(loader: LoaderFacts, loaders: int) -> dict[str, str | int | float | bool | None]:
    shown: dict[str, str | int | float | bool | None] = {
        "num_workers": loader.num_workers,
        "prefetch_factor": loader.prefetch_factor,
        "persistent_workers": loader.persistent_workers,
        "pin_memory": loader.pin_memory,
        "batch_size": loader.batch_size,
        "dataset": loader.dataset_name,
        "collate_fn": loader.custom_collate or "default",
        "start_method": loader.start_method,
    }
    if loaders > 1:
        shown["loaders"] = loaders
    return shown
