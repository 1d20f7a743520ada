"""How long to look for damage: FEEDWATCH_FUZZ_SECONDS per target (`make fuzz SECONDS=600`), or a few examples in the tests.

Every target prints how many examples it tried, the slowest of them and the peak of memory.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy, tuples

SECONDS: Final = float(os.environ.get("FEEDWATCH_FUZZ_SECONDS", "0"))
EXAMPLES: Final = int(os.environ.get("FEEDWATCH_FUZZ_EXAMPLES", "40"))
# Of one example. The readers' own limits are far below; a machine that others share takes its time.
MOST_SECONDS: Final = 20.0
MOST_GROWTH_MB: Final = 600.0
CLEAR_REFS: Final = Path("/proc/self/clear_refs")


def fuzzed(*strategies: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Runs the test over and over, with new seeds, until the time is over."""

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def run() -> None:
            spent: list[float] = []
            before_mb = _memory_mb("VmRSS")
            CLEAR_REFS.write_text("5")  # the peak begins anew
            until = time.monotonic() + SECONDS
            while not spent or time.monotonic() < until:
                _round(test, strategies, spent)
            growth_mb = _memory_mb("VmHWM") - before_mb
            print(f"\n{test.__name__}: {len(spent)} examples, slowest {max(spent):.2f} s, peak +{growth_mb:.0f} MB")
            assert max(spent) < MOST_SECONDS
            assert growth_mb < MOST_GROWTH_MB

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        run.__module__ = test.__module__
        return run

    return decorate


def _round(test: Callable[..., None], strategies: Any, spent: list[float]) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=False,  # a search that begins anew each time finds more
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, Phase.target, Phase.shrink],
    )
    @given(tuples(*strategies))
    def attempt(values: tuple[Any, ...]) -> None:
        began = time.perf_counter()
        test(*values)
        spent.append(time.perf_counter() - began)

    attempt()


def _memory_mb(which: str) -> float:
    """Of this process: VmRSS now, VmHWM at its peak."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[which].split()[0]) * 1024 / 1e6
