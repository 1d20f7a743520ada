"""What advice says of workers; numbers come from `feedwatch.words`."""

from feedwatch.words import count, ms, percent, rate, seconds, size, times

__all__ = ["count", "ms", "percent", "rate", "seconds", "size", "supplied", "times"]


def supplied(workers: float, period_ms: float) -> str:
    """1 worker supplies, 2 workers supply a batch every 20 ms."""
    who = count(workers, "worker")
    return f"{who} {'supplies' if who == '1 worker' else 'supply'} a batch every {ms(period_ms)}"
