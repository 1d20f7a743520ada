"""Cases for FW114."""

from tests.rules.build import batch, case, host, loader, window

SLOW_HANDOVER = host(handover_ms=0.1, handover_ms_per_mb=0.4, cpu_used=1.2)
CHEAP = {"load_ms": 0.5, "item_ms": 0.01, "collate_ms": 0.1, "cpu_share": 0.98, "blocked_share": 0.01}
LIGHT = batch(size_bytes=100_000)

FIRES = {
    "seven workers for batches of half a millisecond": case(
        window(4, 2.2), loader=loader(num_workers=7, **CHEAP), host_facts=SLOW_HANDOVER, batch=LIGHT
    ),
    "a handover that was measured": case(
        window(5, 3.2),
        loader=loader(num_workers=2, delivery_ms=3.0, ready_share=0.9, **CHEAP),
        host_facts=SLOW_HANDOVER,
        batch=LIGHT,
    ),
}
SILENT = {
    "batches that are real work": case(window(92, 60), loader=loader(load_ms=180.0), batch=LIGHT),
    "no workers": case(window(3, 0.5), loader=loader(num_workers=0, **CHEAP), host_facts=SLOW_HANDOVER, batch=LIGHT),
    "items that wait": case(
        window(60, 20), loader=loader(num_workers=2, load_ms=110.0, cpu_share=0.05, blocked_share=0.93), batch=LIGHT
    ),
    "healthy": case(window(100, 1), loader=loader(num_workers=1, load_ms=50.0), batch=LIGHT),
}
UNKNOWN = {
    "load not measured": case(window(4, 2.2), loader=loader(num_workers=7, load_ms=None), host_facts=SLOW_HANDOVER),
    "no CPU budget": case(window(4, 2.2), loader=loader(num_workers=7, **CHEAP), host_facts=host(cpu_budget=None)),
}
