"""Numbers as people read them."""

import math


def ms(value_ms: float) -> str:
    """Three digits at most: 0.32 ms, 3.2 ms, 32 ms, 320 ms, 3.2 s."""
    if value_ms >= 999.5:
        return seconds(value_ms / 1000)
    return f"{_short(value_ms)} ms"


def seconds(value_s: float) -> str:
    if value_s < 0.9995:
        return f"{_short(value_s * 1000)} ms"
    return f"{_short(value_s)} s"


def percent(share: float) -> str:
    value = share * 100
    return f"{value:.1f} %" if value < 1 else f"{value:.0f} %"


def times(factor: float) -> str:
    return f"{factor:.0f}×" if factor >= 10 else f"{factor:.2g}×" if factor < 1 else f"{factor:.1f}×"


def size(value_bytes: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value_bytes >= 0.9995 * scale:
            return f"{_short(value_bytes / scale)} {unit}"
    return f"{value_bytes:.0f} bytes"


def rate(gb_per_s: float) -> str:
    return f"{_short(gb_per_s)} GB/s"


def count(value: float, noun: str, plural: str | None = None) -> str:
    """1 worker, 2 workers, 1.5 CPUs, 3 batches."""
    number = f"{value:.0f}" if math.isclose(value, round(value), abs_tol=0.05) else f"{value:.1f}"
    return f"{number} {noun}" if number == "1" else f"{number} {plural or noun + 's'}"


def supplied(workers: float, period_ms: float) -> str:
    """1 worker supplies, 2 workers supply a batch every 20 ms."""
    who = count(workers, "worker")
    return f"{who} {'supplies' if who == '1 worker' else 'supply'} a batch every {ms(period_ms)}"


def _short(value: float) -> str:
    if value >= 9.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"
