"""The machine and the versions that a figure belongs to."""

import os
import platform
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from feedwatch.probe.cpu_budget import cpu_budget

PACKAGES = ("tensorflow", "keras", "torch", "lightning", "transformers", "tensorboard", "numpy")


def describe() -> dict[str, object]:
    return {
        "cpu": cpu_model(),
        "cpus": cpu_budget(),
        "gpu": gpus(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := installed(name)) is not None},
    }


def today() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d")


def load_average() -> float:
    return round(os.getloadavg()[0], 2)


def gpus() -> str:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return "none"
    try:
        count = pynvml.nvmlDeviceGetCount()
        names = [str(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(index))) for index in range(count)]
    finally:
        pynvml.nvmlShutdown()
    return ", ".join(names) or "none"


def cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
