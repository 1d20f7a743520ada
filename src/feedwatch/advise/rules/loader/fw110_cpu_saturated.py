"""FW110: loading already takes every CPU there is."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import cpu_saturated
from feedwatch.advise.questions.loader import LoaderLook, load_cpu_ms, load_ms, starved_loader
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import Supply, cpu_budget, supplied_gain
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, percent

# Cheaper preprocessing saves a third of the work at least. Done once and offline, it saves nearly all of it.
WORST_REMOVED: Final = 0.33
BEST_REMOVED: Final = 0.95
# Workers that mostly wait for storage do not saturate CPUs, even when other processes on the machine do.
LEAST_CPU_SHARE: Final = 0.5


def check(case: Case) -> Evidence | None:
    look, budget = starved_loader(case), cpu_budget(case)
    if look is None or budget is None or cpu_saturated(case) is not True:
        return None
    load, loader = load_ms(look), look.loader
    # A worker computes, or is ready to compute and waits for a core: both count.
    wanted = None if loader.cpu_share is None else loader.cpu_share + (loader.core_wait_share or 0.0)
    if load is None or (wanted is not None and wanted < LEAST_CPU_SHARE):
        return None
    if loader.num_workers and load / loader.num_workers < look.times.rest_ms:
        return None  # on average they keep up
    used, core_wait = case.facts.host.cpu_used, loader.core_wait_share
    numbers = {
        "load_ms": load,
        "workers": float(loader.num_workers),
        "cpu_budget": budget,
        "rest_ms": look.times.rest_ms,
        "wait_ms": look.times.wait_ms,
    }
    proof = ""
    if used is not None:
        numbers["cpu_used"] = used
        proof += f"; {count(used, 'CPU')} in use"
    if core_wait is not None:
        numbers["core_wait_share"] = core_wait
        proof += f"; ready workers wait {percent(core_wait)} of their time for a core"
    return Evidence(
        says=(
            f"A batch costs {ms(load)} of work on one worker, and {count(budget, 'CPU')} are all this process "
            f"may use{proof}. More workers will not help: make the work of a batch smaller."
        ),
        numbers=numbers,
        blanks={"load": ms(load), "budget": count(budget, "CPU")},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_loader(case)
    if look is None:
        return None
    load = evidence.numbers["load_ms"]
    because = (
        f"with {percent(WORST_REMOVED)} to {percent(BEST_REMOVED)} of the {ms(load)} per batch done "
        f"offline or on the "
        f"device, {count(evidence.numbers['cpu_budget'], 'CPU')} supply batches that much faster"
    )
    best, worst = (_supply(case, look, load, share) for share in (BEST_REMOVED, WORST_REMOVED))
    return supplied_gain(case, look.times, best, because, worst=worst)


def _supply(case: Case, look: LoaderLook, now_ms: float, removed: float) -> Supply:
    saved = load_cpu_ms(case, look.loader, removed * now_ms)
    lanes = max(1, look.loader.num_workers)
    return Supply((1 - removed) * now_ms, lanes, load_cpu_ms(case, look.loader, (1 - removed) * now_ms), saved)


RULE: Final = Rule(
    code="FW110",
    name="cpu-saturated",
    title="Make loading cheaper: all CPUs are busy with it",
    before="# every epoch repeats $load of decoding and augmenting per batch on $budget",
    after="""# Once, before training: decode, resize and store what every epoch needs in the same form.
def prepare(dataset, path):
    items = [dataset[index] for index in range(len(dataset))]
    torch.save([torch.stack(column) for column in zip(*items)], path)""",
    page=Page(
        sees="An input-bound run whose workers use the whole CPU budget, or wait for a core.",
        why=(
            "Workers are processes, and processes need cores. When the cores are used up, another "
            "worker only takes time away from the others and from the training process."
        ),
        fix=(
            "Make a batch cheaper: store images at the size that is used, decode with a faster library, "
            "move augmentation to the device, do what is the same in every epoch once and offline. Or "
            "give the process more CPUs."
        ),
        leave="When the CPUs are busy with somebody else's work: come back when they are free.",
        references=(
            "https://pytorch.org/vision/stable/transforms.html#performance-considerations",
            "https://lightning.ai/docs/pytorch/stable/advanced/speed.html",
        ),
    ),
    symptoms=(ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP),
    relieves=Bound.INPUT,
    edit_lines=20,
    needs=("HostFacts.cpu_budget", "PipelineFacts.loader"),
    check=check,
    predict=predict,
)
