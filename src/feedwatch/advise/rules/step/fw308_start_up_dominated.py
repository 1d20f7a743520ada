"""FW308: the run is over before its start-up has paid off."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import SLOW_START
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import percent, seconds

LARGER_PART: Final = 0.5
# A person notices a start that takes this long. Every framework needs a second or two.
LEAST_S: Final = 3.0

# The cache is a directory of the user's own: whoever may write to it may run code in the next training.
JAX: Final = """import os

# before the first step: keeps compiled programs between runs
jax.config.update("jax_compilation_cache_dir", os.path.expanduser("~/.cache/jax"))"""
TORCH: Final = """import os

# before torch.compile: keeps compiled programs between runs
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.expanduser("~/.cache/torchinductor")
os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "1\""""
TENSORFLOW: Final = "model.compile(..., jit_compile=False)  # while trying things out: tracing alone is quicker"
CODE: Final = {"jax": JAX, "torch": TORCH, "tensorflow": TENSORFLOW}

PAGE: Final = """
## What it sees
A short run of which tracing and compiling the step are the larger part.

## Why it costs
The first step builds the program: tracing, XLA or inductor compilation, kernel selection. That takes seconds to
minutes, once. In a short run it is most of the time, and says nothing about the steps.

## Fix
Judge speed from longer runs. Keep compiled programs between runs (JAX' compilation cache, inductor's cache), in a
directory that only you can write to: a cached program is code that the next run executes. Leave `jit_compile` or
`torch.compile` off while trying things out.

## When to leave it
When the real run is long: the start is paid once. No gain is predicted for that reason.

## References
- https://docs.jax.dev/en/latest/persistent_compilation_cache.html
- https://pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html
"""


@rule(
    PAGE,
    knob="compilation_cache",
    relieves=Bound.UNKNOWN,
    symptoms=(SLOW_START,),
    edit_lines=1,
    needs=(),
)
def RULE(case: Case) -> Found | None:
    start, run, wall_s = case.startup, case.run, case.counts.wall_s
    if run is None or wall_s <= 0 or case.counts.measured < THRESHOLDS.min_steady_steps:
        return None
    # Tracing ends when the graph is made; compiling it (XLA) belongs to the first step's own time.
    known_ms = [one_ms for one_ms in (start.tracing_ms, start.first_step_ms) if one_ms is not None]
    if not known_ms:
        return None
    start_s = max(0.0, max(known_ms) / 1e3 - run.wall_ns / max(1, run.steps) / 1e9)
    share = min(1.0, start_s / wall_s)
    if start_s < LEAST_S or share < LARGER_PART:
        return None
    return Found(
        title="Run longer, or keep compiled programs between runs",
        says=(
            f"The first step took {seconds(start_s)} longer than a usual one (tracing and compiling), "
            f"{percent(share)} of this run of {seconds(wall_s)}. It is paid once: a longer run hardly notices it."
        ),
        numbers={"startup_s": start_s, "run_s": wall_s, "share": share},
        before="# every run traces and compiles from nothing",
        after=CODE.get(case.facts.run.backend, TORCH),
    )
