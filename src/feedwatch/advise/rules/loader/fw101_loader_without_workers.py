"""FW101: the loader makes a batch only while training waits for it."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import indexes_memory, load_ms, plan_workers, starved_loader, supplied
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import loader_call
from feedwatch.advise.step_model import cpu_budget, supplied_gain
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU, SUM_OF_BOTH, SWINGING_GPU
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms


def check(case: Case) -> Evidence | None:
    look, budget = starved_loader(case), cpu_budget(case)
    if look is None or budget is None or look.loader.num_workers != 0:
        return None
    # The data set slices tensors in memory. Sending a batch between processes costs more than making it.
    if indexes_memory(look.loader):
        return None
    load = load_ms(look)
    plan = None if load is None else plan_workers(case, look, load)
    if load is None or plan is None:
        return None
    changes = {"num_workers": plan.workers, "persistent_workers": True}
    return Evidence(
        says=(
            f"Loading a batch takes {ms(load)} and happens in the training process, between steps; the rest of the "
            f"step takes {ms(look.times.rest_ms)}. With {count(budget, 'CPU')} for this process, "
            f"num_workers={plan.workers} lets {count(plan.workers, 'worker')} load ahead while the step runs."
        ),
        numbers={
            "load_ms": load,
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
            "step_ms": look.times.step_ms,
            "cpu_budget": budget,
            "workers": 0.0,
            "workers_advised": float(plan.workers),
        },
        blanks={
            "workers": str(plan.workers),
            "before": loader_call(look.loader),
            "after": loader_call(look.loader, changes),
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
    code="FW101",
    name="loader-without-workers",
    title="Load in the background: num_workers=$workers",
    before="$before",
    after="$after",
    page=Page(
        sees="A DataLoader with `num_workers=0` in a run that waits for its input.",
        why=(
            "Without workers the batch is read, decoded and collated in the training process, between "
            "two steps. Loading and computing take turns, so a step costs the sum of both instead of "
            "the longer of the two, and the device idles while the batch is made."
        ),
        fix=(
            "Set `num_workers` to the time one batch takes to load divided by the rest of the step, "
            "rounded up, but not above the CPUs this process may use (affinity and cgroup quota, "
            "divided by the ranks on the machine). Add `persistent_workers=True`, so that the workers "
            "are not started again for every epoch."
        ),
        leave=(
            "When the data set is a tensor in memory: workers then cost more than they save (see "
            "FW106). When an item cannot be made in another process, for example because it holds an "
            "open handle that does not survive a fork. When a debugger has to step into the data set."
        ),
        references=(
            "https://pytorch.org/docs/stable/data.html#multi-process-data-loading",
            "https://lightning.ai/docs/pytorch/stable/advanced/speed.html",
        ),
    ),
    symptoms=(SWINGING_GPU, ONE_BUSY_CPU, GPU_NO_FASTER, SUM_OF_BOTH),
    relieves=Bound.INPUT,
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "PipelineFacts.loader"),
    check=check,
    predict=predict,
)
