"""Lanes for whoever makes the batches where no worker wrote down when it made them.

Without workers the training thread loads, and its wait is the loading. tf.data tells how long each stage takes for a
batch, not when: these lanes are an estimate, and say so.
"""

from dataclasses import replace
from typing import Final, NamedTuple

from feedwatch.model import timeline
from feedwatch.model.pipeline import PipelineFacts, Stage
from feedwatch.model.timeline import SPAN_PHASES, Excerpt, Lane, TimelineSection

_WAIT: Final = SPAN_PHASES.index("input_wait")
# Stages that take less than this part of the slowest one are not worth a lane.
LEAST_SHARE: Final = 0.05
MOST_STAGES: Final = 4
# A batch that came at once was made before it was asked for.
AT_ONCE_US: Final = 300


class _Arrival(NamedTuple):
    """A batch as the loop saw it come."""

    asked_us: int
    got_us: int
    batch: int


def with_loading(section: TimelineSection, pipeline: PipelineFacts) -> TimelineSection:
    return replace(section, excerpts=tuple(_with_loading(each, pipeline) for each in section.excerpts))


def _with_loading(excerpt: Excerpt, pipeline: PipelineFacts) -> Excerpt:
    if any(lane.kind == timeline.WORKER for lane in excerpt.lanes):
        return excerpt
    arrivals = _arrivals(excerpt)
    if pipeline.kind == "tf.data":
        lanes = _stage_lanes(pipeline.stages, arrivals)
    elif _loads_itself(pipeline):
        lanes = [_loading_lane(arrivals)] if arrivals else []
    else:
        lanes = []
    return replace(excerpt, lanes=(*excerpt.lanes, *lanes))


def _loads_itself(pipeline: PipelineFacts) -> bool:
    """The batch is made while training waits for it, in the same process."""
    return pipeline.loader is not None and pipeline.loader.num_workers == 0


def _arrivals(excerpt: Excerpt) -> list[_Arrival]:
    loop = next((lane for lane in excerpt.lanes if lane.kind == timeline.LOOP), None)
    if loop is None:
        return []
    numbers = loop.batch or (0,) * len(loop.phase)
    spans = zip(loop.begin_us, loop.took_us, loop.phase, numbers, strict=True)
    return [_Arrival(begin, begin + took, batch) for begin, took, phase, batch in spans if phase == _WAIT]


def _loading_lane(arrivals: list[_Arrival]) -> Lane:
    return Lane(
        timeline.LOADING,
        "Loading",
        tuple(each.asked_us for each in arrivals),
        tuple(each.got_us - each.asked_us for each in arrivals),
        batch=tuple(each.batch for each in arrivals),
    )


# -- tf.data: how long is known, when is not -------------------------------------------------------


def _stage_lanes(stages: tuple[Stage, ...], arrivals: list[_Arrival]) -> list[Lane]:
    timed = [stage for stage in stages if stage.ms_per_batch]
    longest_ms = max((stage.ms_per_batch or 0.0 for stage in timed), default=0.0)
    shown = [stage for stage in timed if (stage.ms_per_batch or 0.0) >= LEAST_SHARE * longest_ms]
    shown = sorted(shown, key=lambda stage: -(stage.ms_per_batch or 0.0))[:MOST_STAGES]
    if not arrivals or not shown:
        return []
    ends = [_made_by(each) for each in arrivals]
    lanes = []
    for stage in reversed([stage for stage in timed if stage in shown]):  # from the loop back to the source
        begins, tooks, ends = _spans(stage, ends)
        lanes.append(
            Lane(
                timeline.STAGE,
                " ".join(filter(None, (stage.name, stage.detail))),
                begins,
                tooks,
                batch=tuple(each.batch for each in arrivals),
                estimated=True,
            )
        )
    return lanes[::-1]


def _made_by(arrival: _Arrival) -> int:
    """The latest moment at which the batch was finished."""
    at_once = arrival.got_us - arrival.asked_us < AT_ONCE_US
    return arrival.asked_us if at_once else arrival.got_us


def _spans(stage: Stage, ends: list[int]) -> tuple[tuple[int, ...], tuple[int, ...], list[int]]:
    """Going back from the batch that came last: a batch is finished before the next one is, by as much as the stage
    takes for one with all its calls at once. Returns begins, times, and when the stage before must have finished.

    The stage's time is that of the whole run. Where batches came faster than that, it was faster here.
    """
    each_us = round(1000 * (stage.ms_per_batch or 0.0) / max(1, stage.parallelism or 1))
    if len(ends) > 1:
        each_us = min(each_us, (ends[-1] - ends[0]) // (len(ends) - 1))
    begins: list[int] = []
    tooks: list[int] = []
    next_begin: int | None = None
    for latest_us in reversed(ends):
        end_us = latest_us if next_begin is None else min(latest_us, next_begin)
        begins.append(end_us - each_us)
        tooks.append(each_us)
        next_begin = end_us - each_us
    return tuple(begins[::-1]), tuple(tooks[::-1]), begins[::-1]
