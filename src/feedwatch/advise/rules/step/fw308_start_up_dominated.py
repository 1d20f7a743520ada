"""FW308: the run is over before its start-up has paid off."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule, no_gain
from feedwatch.advise.step_model import step_times
from feedwatch.advise.symptoms import SLOW_START
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound, Evidence
from feedwatch.words import percent, seconds

LARGER_PART: Final = 0.5
# A person notices a start that takes this long. Every framework needs a second or two.
LEAST_S: Final = 3.0

KERAS: Final = """# jax and torch backends keep compiled programs between runs:
jax.config.update("jax_compilation_cache_dir", "/tmp/jax-cache")  # before the first step
model.fit(data, epochs=epochs, steps_per_epoch=None)  # and whole epochs, so that the start is paid once"""
LIGHTNING: Final = """import os

os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "1"  # before torch.compile: keeps compiled programs between runs"""


def check(case: Case) -> Evidence | None:
    start, times, wall_s = case.startup, step_times(case), case.counts.wall_s
    if times is None or wall_s <= 0 or case.counts.measured < THRESHOLDS.min_steady_steps:
        return None
    # Tracing ends when the graph is made; compiling it (XLA) belongs to the first step's own time.
    known_ms = [one_ms for one_ms in (start.tracing_ms, start.first_step_ms) if one_ms is not None]
    if not known_ms:
        return None
    first_ms = max(known_ms)
    start_s = max(0.0, first_ms - times.step_ms) / 1000
    share = min(1.0, start_s / wall_s)
    if start_s < LEAST_S or share < LARGER_PART:
        return None
    return Evidence(
        says=(
            f"The first step took {seconds(start_s)} longer than a usual one (tracing and compiling), "
            f"{percent(share)} of this run of {seconds(wall_s)}. It is paid once: a longer run hardly notices it."
        ),
        numbers={"startup_s": start_s, "run_s": wall_s, "share": share},
        blanks={"after": KERAS if case.facts.run.framework == "keras" else LIGHTNING},
    )


RULE: Final = Rule(
    code="FW308",
    name="start-up-dominated",
    title="Run longer, or keep compiled programs between runs",
    before="# every run traces and compiles from nothing",
    after="$after",
    page=Page(
        sees="A short run of which tracing and compiling the step are the larger part.",
        why=(
            "The first step builds the program: tracing, XLA or inductor compilation, kernel selection. "
            "That takes seconds to minutes, once. In a short run it is most of the time, and says "
            "nothing about the steps."
        ),
        fix=(
            "Judge speed from longer runs. Keep compiled programs between runs (JAX' compilation cache, "
            "inductor's cache). Leave `jit_compile` or `torch.compile` off while trying things out."
        ),
        leave="When the real run is long: the start is paid once. No gain is predicted for that reason.",
        references=(
            "https://docs.jax.dev/en/latest/persistent_compilation_cache.html",
            "https://pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html",
        ),
    ),
    symptoms=(SLOW_START,),
    relieves=Bound.UNKNOWN,
    edit_lines=1,
    needs=(),
    check=check,
    predict=no_gain,
)
