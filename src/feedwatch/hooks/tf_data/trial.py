"""What is tried on a tf.data pipeline, whichever loop reads it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import tensorflow as tf

from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.hooks.tf_data.edits import (
    Edit,
    Graph,
    autotuned,
    cached_behind,
    edited,
    interleaved,
    parallel_maps,
)
from feedwatch.hooks.tf_data.names import READERS, TAKE_FUNCTIONS, plain_name
from feedwatch.hooks.tf_data.walk import Walk, after_deterministic_work, walk
from feedwatch.model.pipeline import TfStage
from feedwatch.model.report import Report
from feedwatch.model.trial import SettingValue
from feedwatch.model.verdict import Finding, Fix
from feedwatch.settings import TrialWish
from feedwatch.trial.room import MOST_OF_MEMORY
from feedwatch.trial.search import ListSearch
from feedwatch.trial.variant import Refused, Variant
from feedwatch.words import size

# What is changed, as a person calls it, and the rule whose change it is.
PARALLEL: Final = "parallel map"
AUTOTUNED: Final = "AUTOTUNE"
PREFETCH: Final = "prefetch"
CACHE: Final = "cache"
UNORDERED: Final = "deterministic"
INTERLEAVE: Final = "parallel interleave"
CODES: Final = {PARALLEL: "FW120", AUTOTUNED: "FW122", PREFETCH: "FW121", CACHE: "FW126", INTERLEAVE: "FW123"}
# A cache is filled before it is measured: with what is loaded in so many seconds, and not more than so many bytes.
FILL_SECONDS: Final = 4.0
FILL_BYTES: Final = 256_000_000


@dataclass(frozen=True, slots=True)
class Kept:
    """What a cache would keep: behind which stage, and how much of it for the trial."""

    stage: TfStage
    number: int  # among the stages that take a function, from the source on
    batches: int
    elements: int
    epoch_bytes: int | None  # of a whole epoch, where that is known

    def must_fit(self, free_bytes: float | None) -> None:
        if self.epoch_bytes is not None and free_bytes is not None and self.epoch_bytes > MOST_OF_MEMORY * free_bytes:
            raise Refused(f"a cache would hold {size(self.epoch_bytes)}, and {size(free_bytes)} of memory are free")


class TfPlan:
    def __init__(self, dataset: Any, report: Report | None, wish: TrialWish, elements_per_batch: int | None) -> None:
        found = walk(dataset)
        if found is None:
            raise Refused("the stages of this pipeline cannot be seen")
        self._dataset, self._walk, self._wish = dataset, found, wish
        self._findings: Sequence[Finding] = () if report is None else report.findings
        self._step_ms = None if report is None else report.verdict.step_ms
        self._kept = _kept(found, elements_per_batch, self._step_ms)
        self._ram_bytes = (
            None if report is None or report.host.ram_available_gb is None else report.host.ram_available_gb * 1e9
        )

    def search(self) -> ListSearch:
        return ListSearch([self._variant({name: value}) for name, value in self._changes()], self._together)

    def dataset(self, settings: Mapping[str, SettingValue]) -> Any:
        """The user's own, changed. Raises Refused."""
        if CACHE in settings and self._kept is not None:
            self._kept.must_fit(self._ram_bytes)
        changed = edited(self._dataset, list(self._edits(settings)))
        if UNORDERED in settings:
            options = tf.data.Options()
            options.deterministic = False
            changed = changed.with_options(options)
        return changed.prefetch(tf.data.AUTOTUNE) if PREFETCH in settings else changed

    def fix(self, variant: Variant) -> Fix | None:
        said = {each.code: each.fix for each in self._findings}
        parts = [said.get(CODES.get(name, "")) or self._written(name) for name in variant.settings]
        return Fix("\n".join(each.before for each in parts), "\n".join(each.after for each in parts))

    # -- which -----------------------------------------------------------------------------------

    def _changes(self) -> Iterator[tuple[str, SettingValue]]:
        """Name and value, those that a rule asks for first."""
        possible = dict(self._possible())
        asked = [name for name in possible if any(each.code == CODES.get(name) for each in self._findings)]
        for name in [*asked, *(each for each in possible if each not in asked)]:
            if not self._wish.only or CODES.get(name) in self._wish.only:
                yield name, possible[name]

    def _possible(self) -> Iterator[tuple[str, SettingValue]]:
        stages = self._walk.stages
        if any(stage.op == "Map" and stage.parallelism is None for stage in stages):
            yield PARALLEL, "AUTOTUNE"
        if any((stage.parallelism or 0) > 0 for stage in stages):
            yield AUTOTUNED, True
        if not _ends_with_prefetch(stages):
            yield PREFETCH, "AUTOTUNE"
        if self._kept is not None:
            yield CACHE, f"behind {place(self._kept.stage)}"
        readers = any(stage.op in READERS or stage.op in ("FlatMap", "Interleave") for stage in stages)
        if readers and not any(stage.op in ("ParallelInterleave", "FromGenerator") for stage in stages):
            yield INTERLEAVE, "AUTOTUNE"
        if any(stage.op.startswith("Parallel") for stage in stages):
            yield UNORDERED, False

    def _variant(self, settings: Mapping[str, SettingValue]) -> Variant:
        codes = tuple(CODES[name] for name in settings if name in CODES)
        advised = len(settings) == 1 and any(each.code in codes for each in self._findings)
        fill = self._kept.batches if CACHE in settings and self._kept is not None else 0
        return Variant(_called(settings), settings=dict(settings), codes=codes, advised=advised, ahead=2, fill=fill)

    def _together(self, helped: Sequence[Variant]) -> Variant:
        merged: dict[str, SettingValue] = {}
        for each in helped:
            merged.update(each.settings)
        return self._variant(merged)

    # -- how -------------------------------------------------------------------------------------

    def _edits(self, settings: Mapping[str, SettingValue]) -> Iterator[Edit]:
        if CACHE in settings and self._kept is not None:
            # First: its stage is found by its place among the user's own.
            yield cached_behind(self._from_end(self._kept.number), self._kept.elements)
        named: dict[str, Edit] = {PARALLEL: parallel_maps, AUTOTUNED: autotuned, INTERLEAVE: interleaved}
        yield from (edit for name, edit in named.items() if name in settings)

    def _from_end(self, number: int) -> int:
        chain = list(Graph.of(self._dataset).chain())
        taking = [at for at, node in enumerate(chain) if plain_name(node.op) in TAKE_FUNCTIONS]
        if len(taking) != len(_functions(self._walk)):
            raise Refused("the graph has other stages than the pipeline as it is written")
        return list(reversed(taking))[number]

    # -- what to write ---------------------------------------------------------------------------

    def _written(self, name: str) -> Fix:
        stages = self._walk.stages
        if name == PARALLEL:
            serial = [stage for stage in stages if stage.op == "Map" and stage.parallelism is None]
            return Fix(
                "\n".join(f"dataset = dataset.map({function_name(one)}){comment(one)}" for one in serial),
                "\n".join(
                    f"dataset = dataset.map({function_name(one)}, num_parallel_calls=tf.data.AUTOTUNE){comment(one)}"
                    for one in serial
                ),
            )
        if name == AUTOTUNED:
            return Fix("", "# num_parallel_calls=tf.data.AUTOTUNE instead of a number")
        if name == PREFETCH:
            return Fix("", "dataset = dataset.prefetch(tf.data.AUTOTUNE)  # last")
        if name == CACHE:
            assert self._kept is not None
            shuffled = ".shuffle(1000)" if any(stage.op == "Shuffle" for stage in stages) else ""
            return Fix("", f"dataset = dataset.cache(){shuffled}  # behind {place(self._kept.stage)}")
        if name == INTERLEAVE:
            return Fix("", "dataset = files.interleave(read, num_parallel_calls=tf.data.AUTOTUNE)")
        return Fix(
            "",
            "options = tf.data.Options()\noptions.deterministic = False\ndataset = dataset.with_options(options)",
        )


def _called(settings: Mapping[str, SettingValue]) -> str:
    """As a person says it: parallel map + cache behind decode (train.py:31)."""
    said = {
        CACHE: f"cache {settings.get(CACHE)}",
        PREFETCH: "prefetch at the end",
        AUTOTUNED: "AUTOTUNE for fixed numbers",
    }
    said[UNORDERED] = "any order (deterministic=False)"
    return " + ".join(said.get(name, name) for name in settings)


def _ends_with_prefetch(stages: Sequence[TfStage]) -> bool:
    return any(stage.op == "Prefetch" for stage in stages[-3:])


def _functions(found: Walk) -> list[int]:
    return [at for at, stage in enumerate(found.stages) if stage.op in TAKE_FUNCTIONS]


def _kept(found: Walk, elements_per_batch: int | None, step_ms: float | None) -> Kept | None:
    at = after_deterministic_work(found)
    if at is None or step_ms is None or any(stage.op == "Cache" for stage in found.stages):
        return None
    stage = found.stages[at]
    per_batch = 1 if stage.batched else elements_per_batch
    if per_batch is None:
        return None
    batches = max(4, int(FILL_SECONDS * 1e3 / max(step_ms, 1.0)))
    elements = batches * per_batch
    if stage.element_bytes is not None and stage.element_bytes * elements > FILL_BYTES:
        batches = max(4, FILL_BYTES // max(1, stage.element_bytes * per_batch))
        elements = batches * per_batch
    try:
        there = int(found.datasets[at].cardinality())
    except Exception:
        there = -1
    if 0 <= there < elements:
        elements, batches = there, max(1, there // per_batch)
    whole = there * stage.element_bytes if there >= 0 and stage.element_bytes is not None else None
    return Kept(stage, _functions(found).index(at), batches, elements, whole)
