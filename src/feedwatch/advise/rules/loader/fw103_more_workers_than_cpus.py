"""FW103: more workers than CPUs, and it shows: they wait for a core, and so does the training process."""

import math
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import CORE_WAIT_SHARE, crowded
from feedwatch.advise.rule import Page, Rule, no_gain
from feedwatch.advise.snippets import loader_call
from feedwatch.advise.step_model import cpu_budget
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP
from feedwatch.model.verdict import Bound, Evidence
from feedwatch.words import count, percent


def check(case: Case) -> Evidence | None:
    loader, budget = case.facts.pipeline.loader, cpu_budget(case)
    if case.run is None or loader is None or budget is None or loader.core_wait_share is None:
        return None
    # Other processes on this machine make workers wait for a core, too, however few workers there are.
    if crowded(case):
        return None
    # Workers that wait for storage may outnumber the CPUs. Only waiting for a core costs something.
    if loader.num_workers <= budget or loader.core_wait_share < CORE_WAIT_SHARE:
        return None
    fewer = max(1, math.floor(budget + 1e-6))
    ranks = case.facts.run.local_ranks
    sharing = f" (shared by {count(ranks, 'rank')})" if ranks > 1 else ""
    return Evidence(
        says=(
            f"{count(loader.num_workers, 'worker')} for {count(budget, 'CPU')}{sharing}: ready workers spend "
            f"{percent(loader.core_wait_share)} of their busy time waiting for a core, which they also take from the "
            f"training process. More workers will not help; {fewer} make as many batches."
        ),
        numbers={
            "workers": float(loader.num_workers),
            "workers_advised": float(fewer),
            "cpu_budget": budget,
            "local_ranks": float(ranks),
            "core_wait_share": loader.core_wait_share,
        },
        blanks={
            "workers": str(fewer),
            "before": loader_call(loader),
            "after": loader_call(loader, {"num_workers": fewer}),
        },
    )


RULE: Final = Rule(
    code="FW103",
    name="more-workers-than-cpus",
    title="Use fewer workers: num_workers=$workers",
    before="$before",
    after="$after",
    page=Page(
        sees=(
            "More workers (times the ranks on this machine) than CPUs this process may use, and workers "
            "that are ready to run but wait for a core."
        ),
        why=(
            "A core can run one worker at a time. The others wait, take the core away from the training "
            "process that feeds the device, hold memory, and make every epoch start more slowly. "
            "`os.cpu_count()` shows the machine, not the share of it that a container, a job scheduler "
            "or the other ranks leave to this process."
        ),
        fix=(
            "Set `num_workers` to the CPU budget. The number of batches per second stays the same; "
            "cores and memory become free. No gain is predicted: how much the training process wins "
            "back differs too much between runs."
        ),
        leave="When the workers mostly wait for storage or network: the rule then stays silent by itself.",
        references=(
            "https://github.com/Lightning-AI/pytorch-lightning/issues/15572",
            "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files",
        ),
    ),
    symptoms=(ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP),
    relieves=Bound.UNKNOWN,
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "LoaderFacts.core_wait_share"),
    check=check,
    predict=no_gain,
)
