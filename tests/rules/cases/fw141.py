"""Cases for FW141."""

from tests.rules.build import case, host, loader, window

SHUFFLED = {"load_ms": 60.0, "indices_mapping": True, "item_ms": 2.0, "cpu_share": 0.98, "blocked_share": 0.01}

FIRES = {
    "rows behind a table of indices": case(window(75, 60), loader=loader(num_workers=0, **SHUFFLED)),
    "in objects of Python": case(window(75, 60), loader=loader(num_workers=0, dataset_format="python", **SHUFFLED)),
    "in a worker": case(
        window(75, 60), loader=loader(num_workers=1, **{**SHUFFLED, "load_ms": 73.0}), host_facts=host(cpu_used=1.2)
    ),
}
SILENT = {
    "in their own order": case(window(75, 60), loader=loader(num_workers=0, **{**SHUFFLED, "indices_mapping": False})),
    "healthy": case(window(100, 0.5), loader=loader(num_workers=0, **{**SHUFFLED, "load_ms": 0.5, "item_ms": 0.01})),
}
UNKNOWN = {
    "nobody looked": case(window(75, 60), loader=loader(num_workers=0, **{**SHUFFLED, "indices_mapping": None})),
    "no CPU budget": case(window(75, 60), loader=loader(num_workers=0, **SHUFFLED), host_facts=host(cpu_budget=None)),
}
