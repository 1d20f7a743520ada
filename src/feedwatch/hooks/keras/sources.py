"""The optional sources of a fit: profiler windows, a DataLoader's facts, what a batch looks like."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import keras

from feedwatch.hooks.keras.watch import Watch
from feedwatch.settings import Settings


def add_sources(watch: Watch, callbacks: Sequence[Any], settings: Settings) -> None:
    run = watch.session.facts.run
    if run.device_kind in ("cuda", "rocm") or settings.profile is True:
        _profiler(watch, callbacks, settings)


def _profiler(watch: Watch, callbacks: Sequence[Any], settings: Settings) -> None:
    from feedwatch.hooks.keras.profiler import keras_profiler
    from feedwatch.probe.profiling import ProfilerWindows

    backend = keras_profiler(keras.backend.backend(), lambda: callbacks)
    if backend is None:
        return
    session = watch.session
    run = session.facts.run
    windows = ProfilerWindows(
        backend,
        choice=settings.profile,
        has_gpu=run.device_kind in ("cuda", "rocm"),
        rank=run.rank,
        warmup_steps=settings.warmup_steps,
        note=session.note,
    )

    def collect() -> dict[str, Any] | None:
        found = windows.collect()
        run_now = session.facts.run
        if windows.refused_because is not None and run_now.other_profiler is None:
            found = {**(found or {}), "run": replace(run_now, other_profiler=windows.refused_because)}
        return found

    watch.windows = windows
    watch.on_close.append(windows.close)
    session.each_window("profiler windows", collect)
