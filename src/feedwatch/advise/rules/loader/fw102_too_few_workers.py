"""FW102: the workers together supply less than the step takes, and there are CPUs left."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import cpu_saturated
from feedwatch.advise.questions.loader import indexes_memory, load_ms, plan_workers, starved_loader, supplied
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import loader_call
from feedwatch.advise.step_model import cpu_budget, supplied_gain
from feedwatch.advise.symptoms import GPU_NO_FASTER, SWINGING_GPU
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms

MOSTLY_READY: Final = 0.5


def check(case: Case) -> Evidence | None:
    look, budget = starved_loader(case), cpu_budget(case)
    # When nobody knows whether CPUs are free, more workers may be the wrong advice.
    if look is None or budget is None or look.loader.num_workers < 1 or cpu_saturated(case) is not False:
        return None
    load, workers = load_ms(look), look.loader.num_workers
    # The data set slices tensors in memory. Sending a batch between processes costs more than making it.
    if indexes_memory(look.loader) or load is None or load / workers <= look.times.rest_ms:
        return None
    # With too few workers a batch is hardly ever ready. Where it mostly is, the stalls are rare and long.
    if look.loader.ready_share is not None and look.loader.ready_share > MOSTLY_READY:
        return None
    plan = plan_workers(case, look, load)
    if plan is None or plan.workers <= workers:
        return None
    return Evidence(
        says=(
            f"Loading a batch takes {ms(load)} on one worker; {count(workers, 'worker')} supply one every "
            f"{ms(load / workers)}, the rest of the step takes {ms(look.times.rest_ms)}. "
            f"{count(budget, 'CPU')} for this process: num_workers={plan.workers}."
        ),
        numbers={
            "load_ms": load,
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
            "step_ms": look.times.step_ms,
            "cpu_budget": budget,
            "workers": float(workers),
            "workers_advised": float(plan.workers),
        },
        blanks={
            "workers": str(plan.workers),
            "before": loader_call(look.loader),
            "after": loader_call(look.loader, {"num_workers": plan.workers}),
        },
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_loader(case)
    plan = None if look is None else plan_workers(case, look, evidence.numbers["load_ms"])
    if look is None or plan is None:
        return None
    because = (
        f"{supplied(plan.workers, plan.supply.period_ms)}; "
        f"the rest of the step needs {ms(look.times.rest_ms)} of the {ms(look.times.step_ms)} it takes now"
    )
    return supplied_gain(case, look.times, plan.supply, because)


RULE: Final = Rule(
    code="FW102",
    name="too-few-workers",
    title="Use more workers: num_workers=$workers",
    before="$before",
    after="$after",
    page=Page(
        sees=(
            "DataLoader workers that together supply fewer batches than the step could take, while CPUs "
            "are left unused."
        ),
        why=(
            "With `n` workers a batch arrives every load time / n. When that is longer than the rest of "
            "the step, the step waits for the difference, every time."
        ),
        fix=(
            "Raise `num_workers` to the load time of one batch divided by the rest of the step, rounded "
            "up. The advised number respects the CPUs this process may use: affinity, cgroup quota and "
            "the other ranks on the machine."
        ),
        leave=(
            "When memory is short: every worker holds its own copy of the Python objects of the data "
            "set and `prefetch_factor` batches."
        ),
        references=(
            "https://pytorch.org/docs/stable/data.html#multi-process-data-loading",
            "https://github.com/Lightning-AI/pytorch-lightning/issues/18723",
        ),
    ),
    symptoms=(SWINGING_GPU, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "LoaderFacts.load_ms"),
    check=check,
    predict=predict,
)
