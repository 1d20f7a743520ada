"""Runs the scenarios. What came of them is a table, and JSON that names no path and no machine."""

import platform
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from rich.table import Table

from feedwatch import __version__
from feedwatch.guard import tame, told
from feedwatch.selftest.bench import Bench
from feedwatch.selftest.scenarios import Scenario

PASSED: Final = "passed"
FAILED: Final = "failed"
NOT_RUN: Final = "not run"
_COLOURS: Final = {PASSED: "green", FAILED: "red", NOT_RUN: "dim"}
PACKAGES: Final = ("torch", "lightning", "keras", "tensorflow", "nvidia-ml-py")


class Result(NamedTuple):
    name: str
    verdict: str
    truth: str = ""
    said: str = ""


def run_all(bench: Bench, scenarios: Iterable[Scenario], tell: Callable[[str], None]) -> list[Result]:
    """`tell` hears the name of each scenario before it runs."""
    results = []
    with TemporaryDirectory(prefix="feedwatch-selftest-", ignore_cleanup_errors=True) as folder:
        for number, scenario in enumerate(scenarios):
            tell(scenario.name)
            results.append(_run(bench, scenario, Path(folder) / str(number)))
    return results


def _run(bench: Bench, scenario: Scenario, folder: Path) -> Result:
    try:
        missing = scenario.needs(bench)
        if missing is not None:
            return Result(scenario.name, NOT_RUN, said=f"needs {missing}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # frameworks warn of what a scenario does on purpose
            row = scenario.run(bench, folder)
    except Exception as error:
        return Result(scenario.name, FAILED, said=told(error))
    return Result(scenario.name, PASSED if row.agree else FAILED, row.truth, row.said)


def failures(results: Sequence[Result]) -> int:
    return sum(result.verdict == FAILED for result in results)


def table(bench: Bench, results: Sequence[Result]) -> Table:
    made = Table(title=f"feedwatch selftest on {bench.description.shown}", title_justify="left")
    for column in ("scenario", "truth", "feedwatch said", "verdict"):
        made.add_column(column, overflow="fold")
    for result in results:
        colour = _COLOURS[result.verdict]
        made.add_row(result.name, result.truth, result.said, f"[{colour}]{result.verdict}[/{colour}]")
    return made


def as_json(bench: Bench, results: Sequence[Result]) -> dict[str, Any]:
    about = bench.description
    return {
        "feedwatch": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "packages": {name: found for name in PACKAGES if (found := _version(name)) is not None},
        "device": {
            "kind": about.kind,
            "name": about.name,
            "capability": about.capability,
            "tensor_cores": about.tensor_cores,
            "tf32": about.tf32,
        },
        "scenarios": [
            {"name": each.name, "verdict": each.verdict, "truth": each.truth, "said": tame(each.said)}
            for each in results
        ],
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
