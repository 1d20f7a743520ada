"""How this backend is measured: who stamps the fetches, and what an end mark means."""

import time

import keras

from feedwatch.hooks.keras.fetch_sources import FetchSource, Unmeasured
from feedwatch.hooks.keras.timeline import Timeline
from feedwatch.session import Session

CHAINED = (
    "with several steps per execution a fetch overlaps the step before it: the input wait is computed, and below"
    " 20 ms per step it is at least what is shown"
)


def make_timeline(per_call: int) -> Timeline:
    backend = keras.backend.backend()
    if backend == "tensorflow":
        # Keras turns the logs into floats after every call: the host has waited for the device.
        return Timeline(per_call, header_fetch=False)
    if backend == "jax":
        return Timeline(per_call, ends_here=False, completions=True)
    return _torch_timeline()


def _torch_timeline() -> Timeline:
    """On a CPU the host computes itself: its marks are exact. A GPU has a clock of its own."""
    import torch
    from keras.src.backend.torch.core import get_device

    from feedwatch.hooks.torch.device import device_clock

    clock = device_clock(torch.device(get_device()))
    if clock is None:
        return Timeline(1, ends_here=False, header_fetch=True)
    from feedwatch.hooks.keras.device_timeline import DeviceTimeline

    return DeviceTimeline(clock, time.perf_counter_ns)


def choose_source(timeline: Timeline, session: Session) -> FetchSource:
    backend = keras.backend.backend()
    if backend in ("torch", "jax"):
        from feedwatch.hooks.keras.python_source import PythonSource

        return PythonSource(timeline.asked, timeline.got)
    if backend != "tensorflow":
        session.note(f"input wait: feedwatch does not know the backend {backend!r}")
        timeline.measured = False
        return Unmeasured()
    if session.facts.run.steps_per_execution > 1:
        session.note(CHAINED)
    if _deterministic_ops():
        from feedwatch.hooks.keras.passive_source import DETERMINISM, PassiveSource

        session.warn(DETERMINISM)
        timeline.hold = True
        return PassiveSource(timeline.begins_ns)
    from feedwatch.hooks.keras.graph_source import GraphSource

    return GraphSource()


def _deterministic_ops() -> bool:
    try:
        from tensorflow.python.framework.config import is_op_determinism_enabled

        return bool(is_op_determinism_enabled())
    except ImportError:
        return False
