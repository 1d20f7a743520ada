"""FW402: a profiler window was taken, but it shows no device."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import FIGURES_MISSING
from feedwatch.model.verdict import Bound

PERMISSION: Final = ("permission", "privilege", "insufficient")

PERMIT: Final = """# shell, as root, then reboot:
# echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf
# in a container: docker run --cap-add=SYS_ADMIN ..."""
INSTALL: Final = """# shell: libcupti has to be found by the loader, in the version of your CUDA
# pip install nvidia-cuda-cupti-cu12
# export LD_LIBRARY_PATH=/usr/local/cuda/extras/CUPTI/lib64:$LD_LIBRARY_PATH"""

PAGE: Final = """
## What it sees
Profiler windows without any device data, with an error from CUPTI.

## Why it costs
Copies and kernels are recorded by NVIDIA's CUPTI library. When it is missing, of the wrong version, or not permitted
for this user, a trace holds the host only. That means unknown, not zero.

## Fix
Install the CUPTI of your CUDA version and put it on the loader's path. On machines that restrict profiling to
administrators, set `NVreg_RestrictProfilingToAdminUsers=0`; in containers, add the capability `SYS_ADMIN`.

## When to leave it
On machines you may not change: everything else is measured without it.

## References
- https://developer.nvidia.com/nvidia-development-tools-solutions-err_nvgpuctrperm-permission-issue-performance-counters
- https://docs.nvidia.com/cupti/
"""


@rule(
    PAGE,
    knob="measurement",
    relieves=Bound.UNKNOWN,
    symptoms=(FIGURES_MISSING,),
    edit_lines=3,
    needs=("Facts.transfers",),
)
def RULE(case: Case) -> Found | None:
    transfers = case.facts.transfers
    if case.run is None or transfers is None or case.facts.run.device_kind not in ("cuda", "rocm"):
        return None
    # A trace without a device and without a problem may mean "no copies". That is an answer, not a fault.
    if transfers.sample.devices or not transfers.sample.problems:
        return None
    problem = transfers.sample.problems[0]
    denied = any(word in problem.lower() for word in PERMISSION)
    return Found(
        title="Let the profiler see the device (CUPTI)",
        says=(
            f"{transfers.windows} profiler windows show nothing of the device: {problem}. Waits and step times are "
            "measured; host-to-device copies and kernels are not."
        ),
        numbers={"profiler_windows": float(transfers.windows)},
        before="# the profiler sees the host only",
        after=PERMIT if denied else INSTALL,
    )
