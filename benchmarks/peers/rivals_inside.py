"""One script of the zoo, in the environment of whoever watches it: what the tool says, and the script's own clock."""

import argparse
import json
import os
import re
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from benchmarks.zoo.child import _step_ms, cases_of
from benchmarks.zoo.lightning_parts import Plan, pl, train

FETCH, STEP = "[_TrainingEpochLoop].train_dataloader_next", "run_training_batch"


def more_workers(plan: Plan, workers: int) -> Plan:
    """The same loader with another number of workers: what `increase num_workers` asks for, and nothing else."""
    old = plan.loader
    chosen: dict[str, Any] = {"batch_size": old.batch_size, "collate_fn": old.collate_fn, "num_workers": workers}
    if not isinstance(old.dataset, IterableDataset):
        chosen["sampler"] = old.sampler
    return replace(plan, loader=DataLoader(old.dataset, **chosen))


def trained(plan: Plan, profiler: Any) -> tuple[Any, Any, list[str]]:
    given = pl.Trainer
    pl.Trainer = lambda **named: given(**named, profiler=profiler)
    with warnings.catch_warnings(record=True) as caught, tempfile.TemporaryDirectory() as directory:
        warnings.simplefilter("always")
        report, watch = train(plan, directory)
    hints = [str(each.message) for each in caught if "worker" in str(each.message)]
    return report, watch, list(dict.fromkeys(hints))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("answer", type=Path)
    parser.add_argument("name")
    parser.add_argument("--tool", choices=("none", "simple", "feedwatch"), default="none")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--fix", type=json.loads, help="numbers of feedwatch's finding: with its fix")
    options = parser.parse_args()
    if options.tool != "feedwatch":
        os.environ["FEEDWATCH"] = "0"
    case = next(case for case in cases_of("lightning") if case.name == options.name)
    plan, had = case.build(options.fix), None
    if isinstance(plan.loader, DataLoader):
        had = plan.loader.num_workers
        plan = plan if options.workers is None else more_workers(plan, options.workers)
    profiler = None
    if options.tool == "simple":
        from lightning.pytorch.profilers import SimpleProfiler

        profiler = SimpleProfiler()
    report, watch, hints = trained(plan, profiler)
    answer = {
        "step_ms": _step_ms(watch.ends),
        "run_s": watch.ends[-1][-1] - watch.began_s,
        "workers": had,
        "hints": [re.sub(r"\s+", " ", hint) for hint in hints],
    }
    if profiler is not None:
        spent = {name: sum(times) for name, times in profiler.recorded_durations.items()}
        fetched, computed = spent.get(FETCH, 0.0), spent.get(STEP, 0.0)
        answer["fetch_share"] = fetched / (fetched + computed) if fetched + computed else None
    if report is not None:
        first = report.findings[0] if report.findings else None
        answer["finding"] = None if first is None else {"code": first.code, "name": first.name}
        answer["numbers"] = {} if first is None else dict(first.evidence)
    options.answer.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
