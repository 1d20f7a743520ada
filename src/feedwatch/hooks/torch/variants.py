"""A DataLoader with other settings, made of the user's own: a copy whose attributes are edited.

Making it anew from its arguments would lose what a subclass or a wrapper keeps; a copy works for them, too.
"""

import copy
import io
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import torch
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset, default_collate

from feedwatch.hooks.sources import Batches
from feedwatch.hooks.torch.loader import LocalCollateTap
from feedwatch.hooks.torch.unwrap import INSIDE, SEVERAL
from feedwatch.hooks.torch.worker_tap import CollateTap
from feedwatch.model.trial import SettingValue
from feedwatch.trial.variant import Refused

DEFAULT_PREFETCH: Final = 2
# A variant whose workers do not answer has hung, by a lock that was held when they were forked for instance.
TIMEOUT_SECONDS: Final = 30
CONTEXT: Final = "_DataLoader__multiprocessing_context"
# Settings that are no attributes of a loader.
WHOLE_BATCHES: Final = "__getitems__"
MATH_THREADS: Final = "torch.set_num_threads"
WORKER_THREADS: Final = "threads in workers"
# Handles that must not be shared by two processes: each reads where the other has moved the position to.
HANDLES: Final = ("h5py", "lmdb", "sqlite3", "zipfile", "tarfile", "socket", "netCDF4", "tables", "rocksdb")


# -- a loader with other settings ----------------------------------------------------------------


def changed(thing: Any, settings: Mapping[str, SettingValue]) -> Any:
    """The same wrappers around an edited copy of every DataLoader inside."""
    # Not isinstance: Accelerate's adapter claims the class of the loader that it wraps.
    held = getattr(thing, "__dict__", {})
    if issubclass(type(thing), DataLoader) and "_dataloader" not in held and "base_dataloader" not in held:
        return _edited(thing, settings)
    for name in INSIDE:
        inner = held.get(name)
        if inner is not None and inner is not thing and hasattr(inner, "__iter__"):
            twin = copy.copy(thing)
            twin.__dict__[name] = changed(inner, settings)
            return twin
    for name in SEVERAL:
        if isinstance(held.get(name), list) and hasattr(thing, "flattened"):
            twin = copy.copy(thing)
            twin.flattened = [changed(part, settings) for part in thing.flattened]
            twin.__dict__["_iterator"] = None
            return twin
    raise Refused(f"no DataLoader was found inside of {type(thing).__name__}")


def _edited(loader: Any, settings: Mapping[str, SettingValue]) -> Any:
    twin = copy.copy(loader)
    held = twin.__dict__
    held["_iterator"] = None  # of persistent workers: the copy starts its own
    held["check_worker_number_rationality"] = _say_nothing  # how many are too many is what is measured
    held["collate_fn"] = _without_taps(held.get("collate_fn"))
    workers = int(settings.get("num_workers", loader.num_workers) or 0)
    held["num_workers"] = workers
    if workers == 0:
        held.update({"prefetch_factor": None, "persistent_workers": False, CONTEXT: None, "timeout": 0})
    else:
        held["prefetch_factor"] = settings.get("prefetch_factor") or loader.prefetch_factor or DEFAULT_PREFETCH
        held["persistent_workers"] = settings.get("persistent_workers", loader.persistent_workers)
        held["timeout"] = held.get("timeout") or TIMEOUT_SECONDS
        _edit_processes(held, settings)
    for name in ("pin_memory", "in_order"):
        if name in settings:
            held[name] = settings[name]
    if settings.get(WHOLE_BATCHES):
        held["dataset"], held["collate_fn"] = whole_batches(loader.dataset, held["collate_fn"]), _as_given
    return twin


def _say_nothing() -> None:
    return


def _edit_processes(held: dict[str, Any], settings: Mapping[str, SettingValue]) -> None:
    method = settings.get("multiprocessing_context")
    if method is not None:
        held[CONTEXT] = torch.multiprocessing.get_context(str(method))
    if settings.get(WORKER_THREADS):
        held["worker_init_fn"] = CappedThreads(held.get("worker_init_fn"))


def _without_taps(collate: Any) -> Any:
    """What we measure with belongs to the run as it is."""
    while isinstance(collate, (CollateTap, LocalCollateTap)):
        collate = collate.collate
    return collate


class CappedThreads:
    """In a worker, before the user's own initialiser: libraries that start a thread per CPU start one."""

    def __init__(self, init: Callable[[int], None] | None) -> None:
        self.init = init

    def __call__(self, worker: int) -> None:
        cv2 = sys.modules.get("cv2")
        if cv2 is not None:
            cv2.setNumThreads(0)
        torch.set_num_threads(1)
        if self.init is not None:
            self.init(worker)


# -- whole batches -------------------------------------------------------------------------------


class WholeBatches(torch.utils.data.Dataset[Any]):  # type: ignore[misc]
    """Tensors in memory, indexed once per batch instead of once per item."""

    def __init__(self, tensors: tuple[torch.Tensor, ...], indices: torch.Tensor | None) -> None:
        self.tensors, self.indices = tensors, indices

    def __len__(self) -> int:
        return len(self.tensors[0]) if self.indices is None else len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])

    def __getitems__(self, indices: list[int]) -> list[torch.Tensor]:
        at = torch.as_tensor(indices)
        at = at if self.indices is None else self.indices[at]
        return [tensor[at] for tensor in self.tensors]


def whole_batches(dataset: Any, collate: Any) -> WholeBatches:
    inner = dataset.dataset if type(dataset) is Subset else dataset
    if type(inner) is not TensorDataset or collate is not default_collate:
        raise Refused(f"only you can write __getitems__ for {type(dataset).__name__}: its items are made by your code")
    indices = torch.as_tensor(dataset.indices) if type(dataset) is Subset else None
    return WholeBatches(inner.tensors, indices)


def _as_given(batch: Any) -> Any:
    return batch


# -- what must not be opened twice ---------------------------------------------------------------


def opened_once(dataset: Any) -> str | None:
    """Why other processes must not read it beside this one. From its attributes only: nothing is called."""
    if isinstance(dataset, IterableDataset) and hasattr(type(dataset), "__next__"):
        return f"{type(dataset).__name__} is its own iterator: a second reader would take its batches away"
    for name, value in list(getattr(dataset, "__dict__", {}).items())[:200]:
        kind = f"{type(value).__module__}.{type(value).__name__}"
        if isinstance(value, types.GeneratorType):
            return f"{type(dataset).__name__}.{name} is a generator, which can be read only once"
        file = isinstance(value, (io.RawIOBase, io.BufferedIOBase, io.TextIOBase)) and not isinstance(value, io.BytesIO)
        if file or kind.split(".", maxsplit=1)[0].lstrip("_") in HANDLES:
            return f"{type(dataset).__name__}.{name} is an open {kind}: two processes must not read through one handle"
    return None


# -- open variants -------------------------------------------------------------------------------


class LoaderSource(Batches):
    """Batches of one loader. `threads`: of the training process, while this one has its turn."""

    def __init__(
        self,
        loader: Any,
        running: Iterator[Any] | None = None,
        threads: int | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(lambda: _begun(loader), running, lambda batches: _end(loader, batches), limit)
        self._loader, self._threads = loader, threads
        self._before: int | None = None

    def enter(self) -> None:
        if self._threads is not None:
            self._before = torch.get_num_threads()
            torch.set_num_threads(self._threads)

    def leave(self) -> None:
        if self._before is not None:
            torch.set_num_threads(self._before)
            self._before = None

    def close(self) -> None:
        _shut_down(self._running)
        super().close()


def _begun(loader: Any) -> Iterator[Any]:
    """An epoch. Workers that a loader keeps may have been ended with the epoch in which the trial began."""
    try:
        return iter(loader)
    except ValueError:
        for one in (loader, *getattr(loader, "flattened", ())):
            if getattr(one, "_iterator", None) is not None:
                one._iterator = None
        return iter(loader)


def _end(loader: Any, batches: Any) -> None:
    if not _keeps_workers(loader):
        _shut_down(batches)


def _keeps_workers(loader: Any) -> bool:
    return bool(getattr(loader, "persistent_workers", False))


def _shut_down(batches: Any) -> None:
    """Its workers end now, not when the garbage collector finds the iterator."""
    members = getattr(getattr(batches, "_iterator", None), "iterators", None)  # of Lightning's CombinedLoader
    for one in members if isinstance(members, list) else [batches]:
        end = getattr(one, "_shutdown_workers", None)
        if callable(end):
            end()
