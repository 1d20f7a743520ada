"""A device that exists only in arithmetic: in-order streams, timing events, and a log of when it was busy.

An operation starts at the later of its enqueueing (plus launch latency) and the end of the one before it, so its end is
known at once. Host time is virtual: nothing sleeps, and every figure is exact.
"""

from collections import deque


class VirtualHost:
    """The host's clock. Python itself takes no time here; `work` does."""

    def __init__(self):
        self.time_ns = 1_000_000_000

    def now_ns(self):
        return self.time_ns

    def wall_s(self):
        return self.time_ns / 1e9

    def cpu_ns(self):
        return 0

    def tick_ns(self):
        return 1

    def work_ms(self, ms):
        self.time_ns += round(ms * 1e6)

    def wait_until(self, when_ns):
        self.time_ns = max(self.time_ns, round(when_ns))


class SimulatedDevice:
    def __init__(self, host, latency_ns=5_000, queue_depth=1024):
        self.host, self.latency_ns, self.queue_depth = host, latency_ns, queue_depth
        self.free_ns = 0
        self.busy = []  # (from, to)
        self._queued = deque()

    def launch(self, ms):
        """A kernel. The host goes on at once, unless the launch queue is full."""
        while self._queued and self._queued[0] <= self.host.now_ns():
            self._queued.popleft()
        if len(self._queued) >= self.queue_depth:
            self.host.wait_until(self._queued.popleft())
        began_ns = max(self.host.now_ns() + self.latency_ns, self.free_ns)
        self.free_ns = began_ns + round(ms * 1e6)
        self._queued.append(self.free_ns)
        if ms:
            self.busy.append((began_ns, self.free_ns))

    def copy(self, ms, *, blocking=False):
        """A blocking copy (pageable memory) keeps the host until it, and all work before it, is done."""
        self.launch(ms)
        if blocking:
            self.synchronise()

    def synchronise(self):
        """`.item()`, `.cpu()`, `print(tensor)`."""
        self.host.wait_until(self.free_ns)

    def idle_ns(self, begin_ns, end_ns):
        """The truth: how long it had nothing to do in this stretch of host time."""
        covered = sum(max(0, min(end, end_ns) - max(begin, begin_ns)) for begin, end in self.busy)
        return end_ns - begin_ns - covered


class Event:
    __slots__ = ("time_ns",)


class SimulatedClock:
    """The five methods of a device clock. Reading an event that has not passed is an error of ours."""

    def __init__(self, device):
        self._device = device
        self.made = 0
        self.graph = False

    def new(self):
        self.made += 1
        return Event()

    def record(self, event):
        assert not self.graph, "recorded inside a graph capture"
        event.time_ns = max(self._device.host.now_ns() + self._device.latency_ns, self._device.free_ns)

    def done(self, event):
        return event.time_ns <= self._device.host.now_ns() + self._device.latency_ns

    def elapsed_ns(self, earlier, later):
        assert self.done(later), "read an event that the device has not passed"
        return float(later.time_ns - earlier.time_ns)

    def capturing(self):
        return self.graph
