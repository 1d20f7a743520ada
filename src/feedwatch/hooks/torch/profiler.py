"""Profiler windows under torch: the events of a profiler in this process, without a file wherever that is possible.

torch.profiler.profile imports torch._inductor at its first start, which takes seconds; the class below it, which does
the recording, starts within a millisecond.
"""

import gc
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import torch
from torch.autograd import profiler as autograd_profiler

from feedwatch.model.transfers import TransferSample
from feedwatch.probe.profiling import Recording
from feedwatch.probe.traces import read_trace
from feedwatch.probe.traces.analysis import analyse
from feedwatch.probe.traces.kineto import KinetoEvent, from_events

Others = Callable[[], str | None]

# torch keeps one flag for "a profiler runs" and sets it to True. Ours is equal to it but not the same object: when
# it is True again, somebody else has started one since, and stopping ours would silently empty theirs.
_OURS: Final = 1
_BYTES: Final = re.compile(r'"bytes":\s*(\d+)')


class TorchProfiler:
    source = "kineto"

    def __init__(self, others: Others = lambda: None) -> None:
        self._others = others
        self._profile: Any = None
        self._step: Any = None

    def other_active(self) -> str | None:
        if _flag():
            return "a torch profiler"
        if os.environ.get("TEARDOWN_CUPTI") == "1":
            # torch.profiler takes it back where CUDA graphs are in use; below CUDA 12.6 they crash with it.
            return "CUPTI's teardown after every profile (TEARDOWN_CUPTI=1)"
        return self._others() or _waiting_profile()

    def rehearsal(self) -> Callable[[], None]:
        """Below torch's flag for "a profiler runs", which a start that hangs must not set. Kineto wants to be loaded by
        the thread that loaded torch: that part is done here.
        """
        profile = autograd_profiler.profile(use_kineto=True, **_device_option(), **_with_metadata())
        try:
            profile._prepare_trace()
            enable, config, activities = torch.autograd._enable_profiler, profile.config(), profile.kineto_activities
        except (AttributeError, TypeError):
            return lambda: None  # a torch that keeps them elsewhere

        def record_nothing() -> None:
            enable(config, activities)
            torch.autograd._disable_profiler()

        return record_nothing

    def start(self) -> None:
        profile = autograd_profiler.profile(use_kineto=True, **_device_option(), **_with_metadata())
        try:
            profile.__enter__()
        except Exception:
            autograd_profiler._is_profiler_enabled = False  # torch sets it before it starts, and leaves it so
            raise
        self._profile = profile
        autograd_profiler._is_profiler_enabled = _OURS

    def step(self, number: int) -> None:
        self._end_step()
        if not self._taken_over():
            self._step = torch.profiler.record_function(f"ProfilerStep#{number}")
            self._step.__enter__()

    def stop(self) -> Recording | None:
        self._end_step()
        profile, self._profile = self._profile, None
        if self._taken_over():
            return None  # theirs goes on with what ours had begun, and is whole
        profile.__exit__(None, None, None)
        return TorchRecording(profile.kineto_results)

    def abandon(self) -> None:
        self.stop()

    def _taken_over(self) -> bool:
        return _flag() is not _OURS

    def _end_step(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)


class TorchRecording:
    def __init__(self, results: Any) -> None:
        self._results = results

    def read(self) -> TransferSample:
        events = self._results.events()
        plain = plain_events(events)
        return self._read_file() if plain is None else analyse(from_events(plain))

    def _read_file(self) -> TransferSample:
        with TemporaryDirectory(prefix="feedwatch-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "trace.json"
            self._results.save(str(path))
            return read_trace(path)


def plain_events(events: Iterable[Any]) -> list[KinetoEvent] | None:
    """None when a copy does not say its bytes in this version of torch: the file does."""
    plain = []
    for event in events:
        category = _category(event)
        if category == "cpu_op":
            continue
        size_bytes = _size_bytes(event) if category == "gpu_memcpy" else 0
        if size_bytes is None:
            return None
        start_ns, duration_ns = _times_ns(event)
        device = None if category == "user_annotation" else event.device_index()
        plain.append(KinetoEvent(category, event.name(), start_ns, duration_ns, device, size_bytes))
    return plain


def _category(event: Any) -> str:
    name = event.name()
    if str(event.device_type()).endswith("CPU"):
        # Older versions do not tell annotations from operators here; the two kinds that matter have telling names.
        return "user_annotation" if name.startswith("ProfilerStep#") or "DataLoader" in name else "cpu_op"
    if hasattr(event, "activity_type"):
        return str(event.activity_type())
    if name.startswith("Memcpy"):
        return "gpu_memcpy"
    if name.startswith("Memset"):
        return "gpu_memset"
    return "gpu_user_annotation" if name.startswith("ProfilerStep#") or "DataLoader" in name else "kernel"


def _size_bytes(event: Any) -> int | None:
    found = _BYTES.search(event.metadata_json()) if hasattr(event, "metadata_json") else None
    return int(found.group(1)) if found else None


def _times_ns(event: Any) -> tuple[float, float]:
    if hasattr(event, "start_ns"):
        return event.start_ns(), event.duration_ns()
    return event.start_us() * 1000.0, event.duration_us() * 1000.0


def _device_option() -> dict[str, Any]:
    device = _accelerator()
    if device is None:
        return {}
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    # `use_device` took other devices only until torch 2.3.
    return {"use_cuda": True} if version < (2, 3) else {"use_device": device}


def _accelerator() -> str | None:
    if not hasattr(torch, "accelerator"):  # until torch 2.5
        return "cuda" if torch.cuda.is_available() else None
    found = torch.accelerator.current_accelerator()
    return None if found is None or not torch.accelerator.is_available() or found.type == "mps" else str(found.type)


def _with_metadata() -> dict[str, Any]:
    """Since torch 2.13 an event tells its bytes only on request."""
    try:
        return {"experimental_config": torch._C._profiler._ExperimentalConfig(expose_kineto_event_metadata=True)}
    except (AttributeError, TypeError):
        return {}


def _waiting_profile() -> str | None:
    """A torch.profiler.profile that is warming up raises in the user's loop if ours runs when its turn comes.

    torch does not tell that one is waiting, so the living ones are looked for: tens of milliseconds at most, once per
    window, and counted as its cost.
    """
    for profile_class in (torch.profiler.profile, *torch.profiler.profile.__subclasses__()):
        for candidate in gc.get_referrers(profile_class):
            if type(candidate) is profile_class and not _finished(candidate):
                return "a torch.profiler.profile"
    return None


def _finished(profile: Any) -> bool:
    """One with a schedule may always begin another round."""
    scheduled = getattr(profile.schedule, "__name__", "") != "_default_schedule_fn"
    recorder = getattr(profile, "profiler", None)
    return not scheduled and getattr(recorder, "kineto_results", None) is not None


def _flag() -> Any:
    return getattr(autograd_profiler, "_is_profiler_enabled", False)
