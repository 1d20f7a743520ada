"""What a training loop can do to a device, in milliseconds. Names are the test ids."""

from collections.abc import Callable
from dataclasses import dataclass

from feedwatch.model.verdict import Bound

STEPS = 60


@dataclass(frozen=True)
class Scenario:
    verdict: Bound
    load: Callable[[int], float] = lambda index: 1.0  # one batch in the background
    depth: int = 4  # batches that may be made ahead
    forward: tuple[float, ...] = (3.0,)
    backward: tuple[float, ...] = (6.0,)
    launch: float = 0.02  # host time per kernel
    copy: float = 0.2
    copy_blocks: bool = False
    sync_in_step: int = 0  # every so many steps: `.item()` on the loss
    sync_in_optimizer: bool = False
    sync_after_step: bool = False  # a callback, before the next fetch
    callback_kernel: float = 0.0
    callback_host: float = 0.0
    validate_every: int | None = None
    own_fetch: bool = False  # dataloader_iter
    accumulate: int = 1
    synchronises: bool = False


def _jitter(index: int) -> float:
    return (2.0, 38.0, 5.0, 3.0, 9.0)[index % 5]


SCENARIOS: dict[str, Scenario] = {
    "input_bound": Scenario(Bound.INPUT, load=lambda index: 15.0),
    "host_waits_while_device_is_busy": Scenario(Bound.COMPUTE, load=lambda index: 8.9),
    "compute_bound": Scenario(Bound.COMPUTE),
    "read_every_50_steps": Scenario(Bound.COMPUTE, sync_in_step=50),
    # Without a profiler window the clock cannot see gaps inside the step; it must not call them input.
    "launch_bound": Scenario(Bound.COMPUTE, forward=(0.1,) * 10, backward=(0.1,) * 20, launch=0.4),
    "read_every_step": Scenario(Bound.COMPUTE, sync_in_step=1, synchronises=True),
    "input_bound_and_read_every_step": Scenario(Bound.INPUT, load=lambda index: 14.0, sync_in_step=1),
    "progress_bar_reads": Scenario(Bound.COMPUTE, sync_after_step=True, synchronises=True),
    "gradient_scaler": Scenario(Bound.COMPUTE, sync_in_optimizer=True, synchronises=True),
    "pageable_copy": Scenario(Bound.TRANSFER, copy=2.0, copy_blocks=True),
    "kernels_in_a_callback": Scenario(Bound.HOST, callback_kernel=3.0),
    "slow_callback": Scenario(Bound.HOST, callback_host=14.0),
    "jittery_loader": Scenario(Bound.INPUT, load=_jitter, depth=2),
    "jitter_that_the_queue_absorbs": Scenario(Bound.COMPUTE, load=lambda index: _jitter(index) / 2),
    "one_spike_in_forty": Scenario(Bound.INPUT, load=lambda index: 300.0 if index % 40 == 39 else 1.0, sync_in_step=10),
    "own_fetch_in_the_step": Scenario(Bound.INPUT, load=lambda index: 15.0, own_fetch=True),
    "validation_and_accumulation": Scenario(Bound.INPUT, load=lambda index: 15.0, validate_every=20, accumulate=3),
}
