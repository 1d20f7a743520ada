"""One DataLoader under observation: its settings, its workers' table, and how it is given back as it was."""

from time import perf_counter_ns
from typing import Any

from feedwatch.hooks.torch.dataset_facts import DatasetFacts, read_dataset
from feedwatch.hooks.torch.loader_settings import read_settings
from feedwatch.hooks.torch.worker_table import WorkerTable
from feedwatch.hooks.torch.worker_tap import CollateTap
from feedwatch.model.pipeline import LoaderFacts


class LoaderWatch:
    """Made before the loader's workers start: later ones carry no tap."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self.settings: LoaderFacts = read_settings(loader)
        self.dataset: DatasetFacts = read_dataset(getattr(loader, "dataset", None))
        self.table: WorkerTable | None = None
        self.local: LocalCollateTap | None = None
        self.ended = False
        self._tap: Any = None

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
        """The figures stay readable; the loader forgets us."""
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
