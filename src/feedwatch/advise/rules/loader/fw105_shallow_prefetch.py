"""FW105: on average the workers keep up, but a burst of slow batches empties their queues."""

import math
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import load_ms, starved_loader
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import loader_call
from feedwatch.advise.step_model import HANDOVER_BEST_MS, serial_gain
from feedwatch.advise.symptoms import IRREGULAR_STEPS
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.pipeline import LoaderFacts
from feedwatch.model.steps import Window
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, percent

# When more than a third of the steps wait, there are no bursts: the pipeline is too slow.
MOST_STALLED_SHARE: Final = 1 / 3
# torch's own default.
DEFAULT_PREFETCH: Final = 2
# More batches per worker than this take too much memory. A burst that long needs another fix.
MOST_PREFETCH: Final = 16
# A deeper queue removes bursts as long as those seen, and longer ones may come. At worst half of the wait stays.
LEAST_REMOVED: Final = 0.5


def check(case: Case) -> Evidence | None:
    look = starved_loader(case)
    if look is None or case.run is None or case.run.clumps is None or look.loader.num_workers < 1:
        return None
    load, clumps, loader, times = load_ms(look), case.run.clumps, look.loader, look.times
    if load is None or load / loader.num_workers >= times.rest_ms:
        return None
    # Taking a batch that is ready costs the same at any depth. Only the time beyond that is a stall.
    if times.wait_ms - (loader.delivery_ms or 0.0) < THRESHOLDS.worth_saying_share * times.step_ms:
        return None
    stalled_share = _stalled_share(case.run, loader)
    if clumps.stalled_steps == 0 or stalled_share > MOST_STALLED_SHARE:
        return None
    depth = loader.prefetch_factor or DEFAULT_PREFETCH
    burst_ms = clumps.largest_wait_ns / 1e6
    missing = math.ceil(burst_ms / max(times.rest_ms, 1e-3))
    deeper = depth + math.ceil(missing / loader.num_workers)
    if deeper > MOST_PREFETCH:
        return None
    return Evidence(
        says=(
            f"On average {count(loader.num_workers, 'worker')} keep up (a batch every "
            f"{ms(load / loader.num_workers)}, the rest of the step takes {ms(times.rest_ms)}), but "
            f"{percent(stalled_share)} "
            f"of the steps wait, up to {ms(burst_ms)}: {count(missing, 'more batch', 'more batches')} "
            f"in the queue bridge that."
        ),
        numbers={
            "load_ms": load,
            "rest_ms": times.rest_ms,
            "burst_ms": burst_ms,
            "stalled_share": stalled_share,
            "prefetch_factor": float(depth),
            "prefetch_factor_advised": float(deeper),
        },
        blanks={
            "depth": str(deeper),
            "before": loader_call(loader, {"prefetch_factor": depth}),
            "after": loader_call(loader, {"prefetch_factor": deeper}),
        },
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_loader(case)
    if look is None:
        return None
    times = look.times
    because = (
        f"waits of up to {ms(evidence.numbers['burst_ms'])} are bridged by a deeper queue; "
        f"they are {ms(times.wait_ms)} of {ms(times.step_ms)} per step on average"
    )
    delivery_ms = min(look.loader.delivery_ms or HANDOVER_BEST_MS, times.wait_ms)
    return serial_gain(times, (delivery_ms, times.wait_ms - LEAST_REMOVED * (times.wait_ms - delivery_ms)), because)


def _stalled_share(run: Window, loader: LoaderFacts) -> float:
    """Fetches that found no batch ready. Where the queue cannot be read, a slow handover counts as a wait."""
    if loader.ready_share is not None:
        return 1 - loader.ready_share
    return run.clumps.stalled_steps / max(1, run.steps) if run.clumps is not None else 0.0


RULE: Final = Rule(
    code="FW105",
    name="shallow-prefetch",
    title="Queue more batches per worker: prefetch_factor=$depth",
    before="$before",
    after="$after",
    page=Page(
        sees="Workers that are fast enough on average, in a run whose waits come in clumps.",
        why=(
            "Items differ in size: a few large ones in a row, a slow moment of the disk. The queue "
            "holds `num_workers × prefetch_factor` batches; when a burst lasts longer than that, the "
            "step waits although the workers idle at other times."
        ),
        fix=("Raise `prefetch_factor` by the longest wait divided by the rest of the step, spread over the workers."),
        leave="When memory is short: every batch in the queue is held in memory.",
        references=("https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader",),
    ),
    symptoms=(IRREGULAR_STEPS,),
    relieves=Bound.INPUT,
    edit_lines=1,
    needs=("LoaderFacts.load_ms",),
    check=check,
    predict=predict,
)
