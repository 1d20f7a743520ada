"""`torch.emulated`: the device module that torch's generic code and libraries ask, like `torch.cuda`.

Importable only once the library is registered; `tests.emulated.load` sees to that.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

NAME = "emulated"
Where = torch.device | str | int | None

Event = partial(torch.Event, device=NAME)

_library: Any = None


def install(library: Any) -> None:
    """Once per process, and for good: torch knows no way back."""
    import sys

    global _library  # noqa: PLW0603 - torch wants a module as the device module, and a module's state is global
    _library = library
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, sys.modules[__name__])
    torch.utils.generate_methods_for_privateuse1_backend()


def _index(device: Where) -> int:
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return current_device() if index is None else index


# Devices


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return int(_library.DEVICES)


def current_device() -> int:
    return int(_library.current_device())


def set_device(device: Where) -> None:
    _library.set_device(_index(device))


@contextmanager
def device(device: Where) -> Iterator[None]:
    before = current_device()
    set_device(device)
    try:
        yield
    finally:
        set_device(before)


@dataclass(frozen=True)
class Properties:
    name: str
    total_memory: int


def get_device_name(device: Where = None) -> str:
    return f"emulated accelerator {_index(device)}"


def get_device_properties(device: Where = None) -> Properties:
    return Properties(get_device_name(device), mem_get_info(device)[1])


def _is_in_bad_fork() -> bool:
    return bool(_library.in_bad_fork())


# Streams and work


def kernel(ms: float, name: str = "kernel", device: Where = None) -> None:
    """Occupies the current stream for so long; `math.inf` never ends before the next reset."""
    _library.kernel(ms, name, _index(device))


def synchronize(device: Where = None) -> None:
    _library.synchronise_device(_index(device))


def Stream(device: Where = NAME) -> torch.Stream:
    return torch.Stream(device=torch.device(NAME, _index(device)))


def current_stream(device: Where = None) -> torch.Stream:
    return torch.accelerator.current_stream(_index(device))


def default_stream(device: Where = None) -> torch.Stream:
    return torch.Stream(
        stream_id=0, device_index=_index(device), device_type=torch._C._autograd.DeviceType.PrivateUse1.value
    )


def set_stream(stream: torch.Stream) -> None:
    torch.accelerator.set_stream(stream)


def stream(stream: torch.Stream) -> Any:
    return stream  # a torch.Stream is its own context manager


def is_current_stream_capturing() -> bool:
    return bool(_library.capturing())


# Memory

empty_cache = torch.accelerator.empty_cache
memory_stats = torch.accelerator.memory_stats
memory_allocated = torch.accelerator.memory_allocated
memory_reserved = torch.accelerator.memory_reserved
max_memory_allocated = torch.accelerator.max_memory_allocated
max_memory_reserved = torch.accelerator.max_memory_reserved
reset_peak_memory_stats = torch.accelerator.reset_peak_memory_stats


def mem_get_info(device: Where = None) -> tuple[int, int]:
    return torch.accelerator.get_memory_info(_index(device))


# Random numbers: the CPU draws them, so its generator is the device's too.


def manual_seed(seed: int) -> None:
    """torch.manual_seed calls this and seeds the CPU's generator itself."""


manual_seed_all = manual_seed


def get_rng_state(device: Where = None) -> torch.Tensor:
    return torch.get_rng_state()


def set_rng_state(state: torch.Tensor, device: Where = None) -> None:
    torch.set_rng_state(state)


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16]
