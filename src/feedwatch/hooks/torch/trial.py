"""What is tried on a torch DataLoader, whichever loop asks it for batches."""

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import psutil
import torch

from feedwatch.advise.snippets import loader_edit
from feedwatch.hooks.sources import Again
from feedwatch.hooks.torch.unwrap import unwrap
from feedwatch.hooks.torch.variants import (
    DEFAULT_PREFETCH,
    MATH_THREADS,
    WHOLE_BATCHES,
    WORKER_THREADS,
    LoaderSource,
    changed,
    opened_once,
    whole_batches,
)
from feedwatch.hooks.trial import Plan, only_as_it_is
from feedwatch.model.facts import Facts
from feedwatch.model.pipeline import LoaderFacts
from feedwatch.model.report import Report
from feedwatch.model.trial import Role, SettingValue
from feedwatch.model.verdict import Finding, Fix
from feedwatch.probe.machine import ram_available_gb
from feedwatch.settings import TrialWish
from feedwatch.trial.board import Source
from feedwatch.trial.room import Free, Needs, shortage
from feedwatch.trial.search import Chain, ListSearch, Search, WorkerSearch
from feedwatch.trial.variant import AS_IS, Refused, Variant, shown

Settings = Mapping[str, SettingValue]

WORKER_CODES: Final = ("FW101", "FW102", "FW103", "FW114")
CODES: Final = {
    "prefetch_factor": "FW105",
    "persistent_workers": "FW104",
    "pin_memory": "FW201",
    "in_order": "FW108",
    "multiprocessing_context": "FW117",
    WHOLE_BATCHES: "FW106",
    MATH_THREADS: "FW116",
    WORKER_THREADS: "FW116",
}
MOST_WORKERS: Final = 16
MOST_WORKERS_PER_CPU: Final = 4
DEEPER: Final = 2
# What a forked worker takes before it has done anything, and what it copies of this process while it works.
FORKED_BYTES: Final = 60e6
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 -- only its free space is asked for
REPEATS: Final = "the IterableDataset does not divide itself between workers: every row would come {n} times"
FORKS: Final = "workers are forked, and JAX has threads of its own: a fork may hang"


def plan_of(
    thing: Any,
    running: Iterator[Any] | None,
    facts: Facts,
    report: Report | None,
    wish: TrialWish,
    *,
    settle_on: str = "cpu",
    wrap: Callable[[Any], Any] = lambda loader: loader,
    forks: bool = True,
    limit: int | None = None,
) -> Plan:
    """What cannot be changed is still measured as it is, beside one cached batch."""
    try:
        made = LoaderPlan(thing, running, facts, report, wish, settle_on=settle_on, wrap=wrap, forks=forks, limit=limit)
    except Refused as why:
        return only_as_it_is(LoaderSource(wrap(thing), running, limit=limit), str(why))
    return made.plan()


class LoaderPlan:
    """Which variants there are of this loader, and how they are opened."""

    def __init__(
        self,
        thing: Any,
        running: Iterator[Any] | None,
        facts: Facts,
        report: Report | None,
        wish: TrialWish,
        *,
        settle_on: str = "cpu",
        wrap: Callable[[Any], Any] = lambda loader: loader,
        forks: bool = True,
        limit: int | None = None,
    ) -> None:
        """`thing`: what the loop iterates over, a DataLoader or something around one or several. `running`: its
        iterator that is under way. `wrap`: what a framework puts around a loader before it iterates. `limit`: batches
        after which the loop ends an epoch, although the loader goes on.
        """
        loaders = unwrap(thing).loaders
        if not loaders or facts.pipeline.loader is None:
            raise Refused(f"no DataLoader was found inside of {type(thing).__name__}")
        self._thing, self._running, self._facts, self._wish, self._wrap = thing, running, facts, wish, wrap
        self._loader, self._seen = loaders[0], facts.pipeline.loader
        self._device, self._forks, self._limit = settle_on, forks, limit
        self._findings: Sequence[Finding] = () if report is None else report.findings
        self._now = self._seen.num_workers
        self._as_is_source: LoaderSource | None = None

    def plan(self) -> Plan:
        return Plan(
            search=self.search(),
            open_source=self.open,
            fix=self.fix,
            as_is=Variant(AS_IS.name, Role.AS_IS, lanes=max(1, self._now), ahead=self._ahead({})),
            epoch_batches=_length(self._thing) if self._limit is None else self._limit,
            settle=self._settle,
        )

    def _settle(self) -> None:
        if self._device != "cpu":
            torch.accelerator.synchronize()

    # -- which -----------------------------------------------------------------------------------

    def search(self) -> Search:
        advised = self._advised(WORKER_CODES, "workers_advised")
        if self._wish.only and not set(self._wish.only) & set(WORKER_CODES):
            return self._extras(None)
        most = self._most_workers()
        return Chain(WorkerSearch(self._now, max(most, 0), self._with_workers, advised), self._extras)

    def _most_workers(self) -> int:
        cpus = self._facts.host.cpu_budget or float(os.cpu_count() or 1)
        most = min(MOST_WORKERS, max(1, math.floor(MOST_WORKERS_PER_CPU * cpus)))
        if self._seen.dataset_shards is not None:
            most = min(most, max(1, self._seen.dataset_shards))
        return max(most, self._now)

    def _with_workers(self, workers: int) -> Variant:
        settings: dict[str, SettingValue] = {"num_workers": workers}
        if workers and self._now == 0 and not self._seen.iterable:
            settings["persistent_workers"] = True
        advised = self._advised(WORKER_CODES, "workers_advised")
        if workers == advised:
            return self._variant(settings, self._said_of(WORKER_CODES), advised=True)
        fewer = "FW114" if workers == 0 else "FW103"
        code = "FW101" if self._now == 0 else "FW102" if workers > self._now else fewer
        return self._variant(settings, (code,))

    def _extras(self, base: Variant | None) -> Search:
        """On top of the workers that were picked."""
        on = {} if base is None else dict(base.settings)
        workers = int(on.get("num_workers", self._now) or 0)
        codes = () if base is None else base.codes
        singles = [self._single(on, each, codes) for each in self._single_changes(workers)]

        def together(helped: Sequence[Variant]) -> Variant:
            merged: dict[str, SettingValue] = {}
            for each in helped:
                merged.update(each.settings)
            return self._variant(merged, tuple(dict.fromkeys(code for each in helped for code in each.codes)))

        return ListSearch(singles, together, AS_IS.name if base is None else base.name)

    def _single(self, on: Settings, change: Settings, codes: tuple[str, ...]) -> Variant:
        """A finding that asks for this change asks for it on the run as it is."""
        own = tuple(CODES[name] for name in change)
        return self._variant({**on, **change}, (*codes, *own), advised=not on and bool(self._said_of(own)))

    def _said_of(self, codes: Sequence[str]) -> tuple[str, ...]:
        return tuple(each.code for each in self._findings if each.code in codes)

    def _single_changes(self, workers: int) -> Iterator[Settings]:
        seen, wanted = self._seen, self._wanted
        if workers and wanted("prefetch_factor"):
            advised = self._advised(("FW105",), "prefetch_factor_advised")
            now = seen.prefetch_factor or DEFAULT_PREFETCH
            yield {"prefetch_factor": advised if advised is not None else DEEPER * now}
        if self._device != "cpu" and not seen.pin_memory and wanted("pin_memory"):
            yield {"pin_memory": True}
        if workers and self._now and not seen.persistent_workers and wanted("persistent_workers"):
            yield {"persistent_workers": True}
        if workers > 1 and getattr(self._loader, "in_order", None) is True and self._said("in_order"):
            yield {"in_order": False}
        if workers and seen.start_method not in (None, "fork") and self._said("multiprocessing_context"):
            yield {"multiprocessing_context": "fork"}
        threads = torch.get_num_threads()
        if self._device == "cpu" and threads > 1 and workers and wanted(MATH_THREADS):
            yield {MATH_THREADS: 1}
        if workers and "cv2" in sys.modules and wanted(WORKER_THREADS):
            yield {WORKER_THREADS: 1}
        if self._said(WHOLE_BATCHES) or self._whole_batches_possible():
            yield {WHOLE_BATCHES: True}

    def _whole_batches_possible(self) -> bool:
        if not self._wanted(WHOLE_BATCHES):
            return False
        try:
            whole_batches(self._loader.dataset, getattr(self._loader.collate_fn, "collate", self._loader.collate_fn))
        except Refused:
            return False
        return True

    def _wanted(self, setting: str) -> bool:
        return not self._wish.only or CODES[setting] in self._wish.only

    def _said(self, setting: str) -> bool:
        """A finding asked for it, or the user."""
        code = CODES[setting]
        return code in self._wish.only or (self._wanted(setting) and any(each.code == code for each in self._findings))

    def _advised(self, codes: Sequence[str], number: str) -> int | None:
        found = [each.evidence[number] for each in self._findings if each.code in codes and number in each.evidence]
        return int(found[0]) if found else None

    def _ahead(self, settings: Settings) -> int:
        workers = int(settings.get("num_workers", self._now) or 0)
        if not workers:
            return 0
        return int(settings.get("prefetch_factor") or self._seen.prefetch_factor or DEFAULT_PREFETCH)

    def _variant(self, settings: Settings, codes: tuple[str, ...], *, advised: bool = False) -> Variant:
        workers = int(settings.get("num_workers", self._now) or 0)
        return Variant(
            _called(settings),
            settings=dict(settings),
            codes=codes,
            advised=advised,
            lanes=max(1, workers),
            ahead=self._ahead(settings),
        )

    # -- how they are opened ---------------------------------------------------------------------

    def open(self, variant: Variant) -> Source:
        if variant.role is Role.CEILING:
            assert self._as_is_source is not None
            return Again(self._as_is_source.last)
        if variant.role is Role.AS_IS:
            running, self._running = self._running, None
            self._as_is_source = LoaderSource(self._wrap(self._thing), running, limit=self._limit)
            return self._as_is_source
        self.check(variant)
        threads = variant.settings.get(MATH_THREADS)
        loader = self._wrap(changed(self._thing, variant.settings))
        return LoaderSource(loader, threads=None if threads is None else int(threads), limit=self._limit)

    def check(self, variant: Variant) -> None:
        workers = int(variant.settings.get("num_workers", self._now) or 0)
        if workers > self._now:
            once = opened_once(self._loader.dataset) if self._now == 0 else None
            if once is not None:
                raise Refused(once)
            if not self._forks and self._seen.start_method in (None, "fork"):
                raise Refused(FORKS)
            repeats = (
                self._seen.iterable and not self._seen.shards_itself and self._seen.workers_repeat_items is not False
            )
            if repeats and workers > 1:
                raise Refused(REPEATS.format(n=workers))
            if self._seen.device_tensors:
                raise Refused("its data set holds tensors on the device, which other processes cannot read")
        short = shortage(self._needs(variant, workers), _free())
        if short is not None:
            raise Refused(short)

    def _needs(self, variant: Variant, workers: int) -> Needs:
        known = self._seen.worker_rss_mb
        method = variant.settings.get("multiprocessing_context") or self._seen.start_method
        own = FORKED_BYTES if method in (None, "fork") else float(psutil.Process().memory_info().rss)
        batch = self._facts.batch
        return Needs(
            workers,
            variant.ahead,
            None if batch is None else batch.size_bytes,
            own if known is None else known * 1e6,
        )

    # -- what to write ---------------------------------------------------------------------------

    def fix(self, variant: Variant) -> Fix | None:
        return loader_fix(self._seen, variant.settings, self._findings)


def loader_fix(loader: LoaderFacts, settings: Settings, findings: Sequence[Finding]) -> Fix:
    """An edit of the user's own call; what is no argument of a loader stands on lines of its own."""
    ours = {
        name: value for name, value in settings.items() if name not in (MATH_THREADS, WHOLE_BATCHES, WORKER_THREADS)
    }
    if ours.get("num_workers") == 0:
        ours = {"num_workers": 0}
    before, after = loader_edit(loader, ours) if ours else ("", "")
    more = []
    if MATH_THREADS in settings:
        more.append(f"torch.set_num_threads({settings[MATH_THREADS]})  # before training")
    if WORKER_THREADS in settings:
        more.append("loader = DataLoader(..., worker_init_fn=lambda _: cv2.setNumThreads(0))")
    if settings.get(WHOLE_BATCHES):
        said = next((each.fix.after for each in findings if each.code == CODES[WHOLE_BATCHES]), None)
        more.append(said or "# give the data set a __getitems__(self, indices) that indexes its tensors once per batch")
    return Fix(before, "\n".join([after, *more] if after else more))


def _called(settings: Settings) -> str:
    """Workers that are new to a run are persistent; the edit says so, the name need not."""
    hidden = "persistent_workers" if "num_workers" in settings else ""
    return shown({name: value for name, value in settings.items() if name != hidden})


def _free() -> Free:
    ram_gb = ram_available_gb()
    try:
        shm = float(shutil.disk_usage(SHARED_MEMORY).free)
    except OSError:
        shm = None
    return Free(None if ram_gb is None else ram_gb * 1e9, shm)


def _length(thing: Any) -> int | None:
    try:
        return len(thing)
    except Exception:
        return None  # unsized, or a length that cannot be told
