"""What it costs on this machine to hand memory from process to process: a file in shared memory, its descriptor sent
over a socket, mapped on both sides. DataLoader workers do this for every tensor of a batch. It takes 0.05 ms on an
ordinary machine and ten times as long on some virtual ones, so it is measured and not assumed.
"""

import mmap
import os
import socket
import tempfile
import time
from typing import Final, NamedTuple

# Of each size, at each of the few times when it is measured: the quickest of all of them counts in the end.
ROUNDS: Final = 2
SMALL: Final = 4096
LARGE: Final = 1 << 20
PLACE: Final = "/dev/shm"  # noqa: S108 -- the file has no name after its first line


class Handover(NamedTuple):
    ms: float  # CPU time for a small tensor
    ms_per_mb: float


def measure() -> Handover | None:
    """About 3 ms of CPU time; None where there is no shared memory to hand over in."""
    try:
        small_ms, large_ms = _least_ms(SMALL), _least_ms(LARGE)
    except (OSError, ValueError, AttributeError):
        return None
    return Handover(small_ms, max(0.0, large_ms - small_ms) / (LARGE / 1e6))


def _least_ms(size: int) -> float:
    """The quickest round: a slow one was interrupted."""
    return min(_round_ms(size) for _ in range(ROUNDS))


def _round_ms(size: int) -> float:
    began_ns = time.thread_time_ns()
    descriptor, name = tempfile.mkstemp(dir=PLACE)
    try:
        os.unlink(name)  # noqa: PTH108 -- nothing is left behind, whatever happens next
        os.ftruncate(descriptor, size)
        with mmap.mmap(descriptor, size) as memory:
            memory.write(bytes(size))
            _send(descriptor, size)
    finally:
        os.close(descriptor)
    return (time.thread_time_ns() - began_ns) / 1e6


def _send(descriptor: int, size: int) -> None:
    here, there = socket.socketpair()
    with here, there:
        socket.send_fds(here, [b"tensor"], [descriptor])
        _, (received, *_), _, _ = socket.recv_fds(there, 64, 1)
        try:
            with mmap.mmap(received, size) as memory:
                memory[::4096]  # touch every page, as a reader does
        finally:
            os.close(received)
