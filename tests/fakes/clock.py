"""Time as an argument: durations in unit tests are exact, and nothing sleeps."""


class FakeClock:
    def __init__(self, start_ns: int = 1_000_000_000) -> None:
        self._now_ns = start_ns
        self._cpu_ns = 0

    def now_ns(self) -> int:
        return self._now_ns

    def wall_s(self) -> float:
        return self._now_ns / 1e9

    def cpu_ns(self) -> int:
        return self._cpu_ns

    def tick_ns(self) -> int:
        return 1

    def advance_ms(self, ms: float) -> None:
        self._now_ns += round(ms * 1e6)

    def work_ms(self, ms: float) -> None:
        """The thread that asks has a core to itself."""
        self.advance_ms(ms)
        self._cpu_ns += round(ms * 1e6)
