"""Cases for FW108."""

from tests.rules.build import case, host, loader, window

SLOW_ONES = loader(num_workers=4, load_ms=300.0, item_ms=4.0, item_p99_ms=400.0)
# Four workers on four CPUs: no more workers to be had.
FULL = host(cpu_budget=4.0, cpu_used=2.0)

FIRES = {"one item in a hundred": case(window(100, 40), loader=SLOW_ONES, host_facts=FULL)}
SILENT = {
    "healthy": case(window(100, 1), loader=SLOW_ONES),
    "items are alike": case(window(100, 40), loader=loader(item_ms=4.0, item_p99_ms=9.0)),
    "slow ones are still short against the step": case(
        window(100, 40), loader=loader(num_workers=4, item_ms=0.1, item_p99_ms=2.0), host_facts=FULL
    ),
}
UNKNOWN = {
    "nobody knows who had to wait for a core": case(
        window(100, 40), loader=loader(item_ms=4.0, item_p99_ms=400.0, core_wait_share=None), host_facts=FULL
    ),
    "items not timed": case(window(100, 40), loader=loader(item_ms=None, item_p99_ms=None)),
}
