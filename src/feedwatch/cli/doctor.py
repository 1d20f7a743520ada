"""`feedwatch doctor`: what is installed, what may be measured, and which tensorboard would be started."""

import argparse
import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, Final

from feedwatch import __version__
from feedwatch.words import number

PACKAGES: Final = (
    "tensorboard",
    "keras",
    "tensorflow",
    "jax",
    "torch",
    "lightning",
    "pytorch-lightning",
    "transformers",
    "nvidia-ml-py",
    "setuptools",
)


def add_parser(subparsers: Any) -> None:
    subparsers.add_parser("doctor", help="what is installed, what can be measured here")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="feedwatch doctor", title_justify="left", show_header=False)
    table.add_column("what")
    table.add_column("answer", overflow="fold")
    for what, answer in findings():
        table.add_row(what, answer)
    console = Console()
    console.print(table)
    console.print(
        "Next: feedwatch selftest  # trainings whose truth is known: does it tell the truth here?", soft_wrap=True
    )
    return 0


def findings() -> list[tuple[str, str]]:
    """(what, answer) rows; an answer says what to do where something is wrong."""
    rows = [("Python", f"{sys.version.split()[0]} ({sys.executable})")]
    rows += [("feedwatch", __version__), *((name, _version(name)) for name in PACKAGES)]
    rows += [
        ("CPU budget", _cpu_budget()),
        ("NVML", _nvml()),
        ("GPU profiler permission", _profiler_permission()),
        ("tensorboard on PATH", _tensorboard()),
        ("Feedwatch tab", _plugin()),
        ("FEEDWATCH", os.environ.get("FEEDWATCH", "not set: the callback works, nothing is added by itself")),
    ]
    return rows


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _cpu_budget() -> str:
    from feedwatch.probe.cpu_budget import cpu_budget

    budget = cpu_budget()
    return "unknown" if budget is None else f"{number(budget)} of {os.cpu_count()} CPUs (affinity and container quota)"


def _nvml() -> str:
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception as error:  # any failure here is an answer, not an error
        return f"not available ({error}): utilisation and link are not measured"
    try:
        return f"{pynvml.nvmlDeviceGetCount()} GPU(s), driver {pynvml.nvmlSystemGetDriverVersion()}"
    finally:
        pynvml.nvmlShutdown()


def _profiler_permission() -> str:
    """The NVIDIA driver keeps its counters from ordinary users unless the administrator allows them."""
    path = Path("/proc/driver/nvidia/params")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "no NVIDIA driver here"
    if "RmProfilingAdminOnly: 1" in text and os.geteuid() != 0:
        return "administrators only: set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module"
    return "allowed"


def _tensorboard() -> str:
    found = shutil.which("tensorboard")
    if found is None:
        return "none: start it with `python -m tensorboard.main --logdir runs`"
    here = Path(sys.executable).resolve().parent
    if Path(found).resolve().parent != here and Path(found).parent != Path(sys.executable).parent:
        return f"{found}: another environment's, it does not see this feedwatch; use {here}/tensorboard"
    return found


def _plugin() -> str:
    seen = [entry for entry in entry_points(group="tensorboard_plugins") if entry.name == "feedwatch"]
    if not seen:
        return "not registered: reinstall feedwatch in the environment that runs tensorboard"
    try:
        seen[0].load()
    except Exception as error:
        return f"registered, but does not load: {error}"
    return "registered and loads"
