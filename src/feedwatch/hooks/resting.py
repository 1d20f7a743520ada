"""Between two turns of a trial: workers and threads of the variant that had its turn still fill their queue. On a
machine with few CPUs the next one would pay for it, so it begins when nothing of ours computes any more.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil

# Of one CPU, in one look: less is nobody's loading.
AT_REST: Final = 0.1
LOOK_S: Final = 0.02
# A thread of the user's own may compute all the time, and large batches take long: then the turn begins all the same.
LONGEST_S: Final = 0.5


def wait_for_rest(
    used_ns: Callable[[], int] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    now_ns: Callable[[], int] = time.perf_counter_ns,
) -> None:
    """`used_ns`: CPU time that this process and its children have used so far. The caller sleeps meanwhile."""
    read = used_ns or own_and_childrens()
    until_ns = now_ns() + int(LONGEST_S * 1e9)
    at_ns, before_ns = now_ns(), read()
    while at_ns < until_ns:
        sleep(LOOK_S)
        later_ns, used = now_ns(), read()
        if used - before_ns < AT_REST * (later_ns - at_ns):
            return
        at_ns, before_ns = later_ns, used


def own_and_childrens() -> Callable[[], int]:
    """All threads of this process, and the main thread of every child, in which a worker loads."""
    try:
        children = [Path(f"/proc/{child.pid}/schedstat") for child in psutil.Process().children(recursive=True)]
    except (psutil.Error, OSError):
        children = []

    def read() -> int:
        return time.process_time_ns() + sum(_ran_ns(child) for child in children)

    return read


def _ran_ns(schedstat: Path) -> int:
    try:
        return int(schedstat.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0  # it has ended, or this is no Linux: the look is at this process only
