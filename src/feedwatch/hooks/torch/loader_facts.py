"""Settings and measured times of a DataLoader, folded into the facts that rules know."""

from dataclasses import replace
from typing import Any

from feedwatch.hooks.torch.fetch_watch import FetchWatch
from feedwatch.hooks.torch.loader_settings import read_settings
from feedwatch.model.pipeline import LoaderFacts, PipelineFacts, Stage


class LoaderWatch:
    """One training loader. `end` gives the user's object back as it was."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.settings: LoaderFacts = read_settings(loader)
        self.ended = False

    def end(self) -> None:
        self.ended = True


def pipeline_facts(watches: list[LoaderWatch], fetches: FetchWatch) -> PipelineFacts:
    facts = [_measured(watch, fetches) for watch in watches]
    loader = max(facts, key=lambda each: (each.load_ms or 0.0) / max(1, each.num_workers))
    cpu_share = loader.cpu_share
    return PipelineFacts(
        kind="dataloader",
        loader=loader,
        load_ms=loader.load_ms,
        lanes=float(max(1, loader.num_workers)),
        load_cpu_ms=None if loader.load_ms is None or cpu_share is None else loader.load_ms * cpu_share,
        stages=_stages(loader),
        settings=_settings(loader, len(watches)),
    )


def _measured(watch: LoaderWatch, fetches: FetchWatch) -> LoaderFacts:
    if watch.settings.num_workers == 0:
        share = fetches.cpu_share
        return replace(
            watch.settings,
            load_ms=fetches.fetch_ms,
            cpu_share=share,
            blocked_share=None if share is None else 1 - share,
        )
    return watch.settings


def _stages(loader: LoaderFacts) -> tuple[Stage, ...]:
    return ()


def _settings(loader: LoaderFacts, loaders: int) -> dict[str, str | int | float | bool | None]:
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
