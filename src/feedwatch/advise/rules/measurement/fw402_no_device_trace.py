"""FW402: a profiler window was taken, but it shows no device."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule, no_gain
from feedwatch.advise.symptoms import FIGURES_MISSING
from feedwatch.model.verdict import Bound, Evidence

PERMISSION: Final = ("permission", "privilege", "insufficient")


def check(case: Case) -> Evidence | None:
    transfers = case.facts.transfers
    if case.run is None or transfers is None or case.facts.run.device_kind not in ("cuda", "rocm"):
        return None
    # A trace without a device and without a problem may mean "no copies". That is an answer, not a fault.
    if transfers.sample.devices or not transfers.sample.problems:
        return None
    problem = transfers.sample.problems[0]
    denied = any(word in problem.lower() for word in PERMISSION)
    return Evidence(
        says=(
            f"{transfers.windows} profiler windows show nothing of the device: {problem}. Waits and "
            f"step times are measured; "
            "host-to-device copies and kernels are not."
        ),
        numbers={"profiler_windows": float(transfers.windows)},
        blanks={"after": PERMIT if denied else INSTALL},
    )


PERMIT: Final = """# shell, as root, then reboot:
# echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf
# in a container: docker run --cap-add=SYS_ADMIN ..."""
INSTALL: Final = """# shell: libcupti has to be found by the loader, in the version of your CUDA
# pip install nvidia-cuda-cupti-cu12
# export LD_LIBRARY_PATH=/usr/local/cuda/extras/CUPTI/lib64:$$LD_LIBRARY_PATH""".replace("$$", "$")

RULE: Final = Rule(
    code="FW402",
    name="no-device-trace",
    title="Let the profiler see the device (CUPTI)",
    before="# the profiler sees the host only",
    after="$after",
    page=Page(
        sees="Profiler windows without any device data, with an error from CUPTI.",
        why=(
            "Copies and kernels are recorded by NVIDIA's CUPTI library. When it is missing, of the "
            "wrong version, or not permitted for this user, a trace holds the host only. That means "
            "unknown, not zero."
        ),
        fix=(
            "Install the CUPTI of your CUDA version and put it on the loader's path. On machines that "
            "restrict profiling to administrators, set `NVreg_RestrictProfilingToAdminUsers=0`; in "
            "containers, add the capability `SYS_ADMIN`."
        ),
        leave="On machines you may not change: everything else is measured without it.",
        references=(
            "https://developer.nvidia.com/nvidia-development-tools-solutions-err_nvgpuctrperm-permission-issue-performance-counters",
            "https://docs.nvidia.com/cupti/",
        ),
    ),
    symptoms=(FIGURES_MISSING,),
    relieves=Bound.UNKNOWN,
    edit_lines=3,
    needs=("Facts.transfers",),
    check=check,
    predict=no_gain,
)
