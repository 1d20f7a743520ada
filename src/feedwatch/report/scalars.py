"""The numbers of one window under their TensorBoard tags. Unknown values have no point on the curve."""

from typing import Final

from feedwatch.diagnose.judge import samples_per_s
from feedwatch.model.report import SelfSection
from feedwatch.model.steps import COMPUTE, H2D, INPUT_WAIT, OTHER, Window

# Shown on each card in TensorBoard.
DESCRIPTIONS: Final = {
    "feedwatch/stall_ratio": "Share of the time in which training waited for input (0 to 1).",
    "feedwatch/step_ms": "Wall time of one training step, mean of the window, in milliseconds.",
    "feedwatch/input_wait_ms": "Time per step spent waiting for the next batch, in milliseconds.",
    "feedwatch/h2d_ms": "Time per step spent copying the batch to the device, in milliseconds.",
    "feedwatch/compute_ms": "Time per step spent computing, in milliseconds.",
    "feedwatch/other_ms": "Time per step that is neither input, copy nor compute: callbacks, logging, the loop itself.",
    "feedwatch/samples_per_s": "Training samples per second.",
    "feedwatch/self/overhead_ratio": "What feedwatch itself costs at most, as a share of the time (0 to 1).",
}


def scalars(window: Window, own: SelfSection) -> dict[str, float]:
    steps = max(1, window.steps)
    values: dict[str, float | None] = {
        "feedwatch/stall_ratio": window.stall_ratio,
        "feedwatch/step_ms": window.wall_ns / steps / 1e6,
        "feedwatch/input_wait_ms": _mean_ms(window, INPUT_WAIT),
        "feedwatch/h2d_ms": _mean_ms(window, H2D),
        "feedwatch/compute_ms": _mean_ms(window, COMPUTE),
        "feedwatch/other_ms": _mean_ms(window, OTHER),
        "feedwatch/samples_per_s": samples_per_s(window),
        "feedwatch/self/overhead_ratio": own.overhead_ratio,
    }
    return {tag: value for tag, value in values.items() if value is not None}


def _mean_ms(window: Window, phase: str) -> float | None:
    time = window.phases.get(phase)
    return None if time is None else time.total_ns / max(1, window.steps) / 1e6
