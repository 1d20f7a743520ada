"""Cases for FW105."""

from tests.rules.build import Clumps, case, loader, window

BURSTS = Clumps(stalled_steps=20, largest_wait_ns=300_000_000)
EVEN = Clumps(stalled_steps=200, largest_wait_ns=30_000_000)

FIRES = {
    "short bursts": case(window(100, 15, clumps=BURSTS), loader=loader(load_ms=120.0)),
    "short bursts beside a slow handover at every step": case(
        window(100, 15, clumps=BURSTS), loader=loader(load_ms=120.0, ready_share=0.9, delivery_ms=3.0)
    ),
}
SILENT = {
    "every step waits": case(window(100, 15, clumps=EVEN), loader=loader(load_ms=120.0)),
    "the load does not fit on average": case(window(100, 15, clumps=BURSTS), loader=loader(load_ms=220.0)),
    "the wait is the handover of batches that are ready": case(
        window(100, 15, clumps=BURSTS), loader=loader(load_ms=120.0, ready_share=0.97, delivery_ms=11.0)
    ),
    "healthy": case(window(100, 1, clumps=BURSTS), loader=loader(load_ms=120.0)),
    "no queue without workers": case(window(100, 15, clumps=BURSTS), loader=loader(num_workers=0, load_ms=15.0)),
    "no queue is that deep": case(window(100, 15, clumps=Clumps(1, 20_000_000_000)), loader=loader(load_ms=120.0)),
}
UNKNOWN = {"load not measured": case(window(100, 15, clumps=BURSTS), loader=loader(load_ms=None))}
