"""The stages a person reads: time per batch, the bottleneck, and what the pipeline needs per batch."""

from collections.abc import Sequence
from typing import NamedTuple

from feedwatch.hooks.keras.stage_model import Joined
from feedwatch.hooks.keras.stage_names import DECOUPLING
from feedwatch.model.pipeline import Stage, TfStage


class Load(NamedTuple):
    load_ms: float | None  # one batch on one lane: all stages added up
    lanes: float | None  # load_ms / lanes is the time between two batches that the pipeline can keep up


def table(joined: Sequence[Joined]) -> tuple[Stage, ...]:
    times_ms = [stage.ms_per_batch for stage, _ in joined]
    total_ms = sum(time_ms for time_ms in times_ms if time_ms is not None)
    slowest = max((lane_ms(stage) for stage, _ in joined), default=0.0)
    return tuple(
        Stage(
            name=stage.op,
            detail=_detail(stage),
            ms_per_batch=stage.ms_per_batch,
            parallelism=stage.parallelism_now,
            tunable=stage.tunable,
            buffer=_filled(stage, None if model is None else model.buffer_size),
            share=None if stage.ms_per_batch is None or total_ms <= 0 else stage.ms_per_batch / total_ms,
            bottleneck=slowest > 0 and lane_ms(stage) == slowest,
        )
        for stage, model in joined
    )


def load(joined: Sequence[Joined]) -> Load:
    """Stages between two decoupling ones take turns; the segments overlap, and the slowest sets the pace."""
    timed = [stage.ms_per_batch for stage, _ in joined if stage.ms_per_batch is not None]
    if not timed or sum(timed) <= 0:
        return Load(None, None)
    pace_ms = segment_ms = 0.0
    for stage, model in joined:
        op = stage.op if model is None else model.op
        if op in DECOUPLING:
            pace_ms = max(pace_ms, segment_ms, lane_ms(stage))
            segment_ms = 0.0
        else:
            segment_ms += stage.ms_per_batch or 0.0
    pace_ms = max(pace_ms, segment_ms)
    return Load(sum(timed), max(1.0, sum(timed) / pace_ms) if pace_ms > 0 else 1.0)


def lane_ms(stage: TfStage) -> float:
    return (stage.ms_per_batch or 0.0) / max(1, stage.parallelism_now or 1)


def _detail(stage: TfStage) -> str:
    if stage.function is None:
        return stage.source or ""
    return stage.function if stage.source is None else f"{stage.function} ({stage.source})"


def _filled(stage: TfStage, size_now: int | None) -> float | None:
    size = size_now if size_now is not None else stage.buffer_size
    if stage.op not in ("Prefetch", "Shuffle") or stage.buffered is None or size is None or size <= 0:
        return None
    return min(1.0, stage.buffered / size)
