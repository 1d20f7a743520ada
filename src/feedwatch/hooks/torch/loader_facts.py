"""Settings and measured times of the training loaders, folded into the facts that rules know."""

from dataclasses import replace

from feedwatch.hooks.torch.dataset_facts import in_memory
from feedwatch.hooks.torch.fetch_watch import FetchWatch
from feedwatch.hooks.torch.loader_watch import LoaderWatch
from feedwatch.hooks.torch.worker_times import fold_workers
from feedwatch.model.facts import BatchFacts
from feedwatch.model.pipeline import LoaderFacts, PipelineFacts, Stage


def pipeline_facts(watches: list[LoaderWatch], fetches: FetchWatch, batch: BatchFacts | None) -> PipelineFacts:
    """Several loaders feed one step together; the one that supplies slowest is the one to look at."""
    facts = [_with_dataset(watch, _measured(watch, fetches), batch) for watch in watches]
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
    settings, gauge = watch.settings, fetches.gauge
    if watch.table is not None:
        fold = fold_workers(watch.table.rows())
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
            head_blocked_share=gauge.head_blocked_share,
            workers_repeat_items=fold.repeat_items if settings.iterable else None,
            workers=fold.workers,
        )
    if settings.num_workers:
        return settings
    load_ms, share = fetches.fetch_ms, fetches.cpu_share
    collate_ms = watch.local.mean_ms if watch.local is not None else None
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


def _with_dataset(watch: LoaderWatch, facts: LoaderFacts, batch: BatchFacts | None) -> LoaderFacts:
    held = watch.dataset
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
