"""Cases for FW115."""

from tests.rules.build import case, host, loader, window

PYTHON = {
    "load_ms": 60.0,
    "item_ms": 0.2,
    "collate_ms": 1.0,
    "cpu_share": 0.98,
    "blocked_share": 0.01,
    "batch_size": 256,
}

FIRES = {
    "every item is converted in Python": case(window(70, 60), loader=loader(num_workers=0, **PYTHON)),
    "item time from the batch": case(window(70, 60), loader=loader(num_workers=0, **{**PYTHON, "item_ms": None})),
    "through workers as well": case(
        window(70, 60), loader=loader(num_workers=1, **{**PYTHON, "load_ms": 68.0}), host_facts=host(cpu_used=1.2)
    ),
}
SILENT = {
    "items that decode files": case(
        window(70, 60), loader=loader(num_workers=0, **{**PYTHON, "item_ms": 8.0, "batch_size": 8})
    ),
    "random augmentation": case(window(70, 60), loader=loader(num_workers=0, random_items=True, **PYTHON)),
    "it indexes whole batches": case(window(70, 60), loader=loader(num_workers=0, batched_getitems=True, **PYTHON)),
    "they wait": case(window(70, 60), loader=loader(num_workers=0, **{**PYTHON, "cpu_share": 0.2})),
    "healthy": case(window(100, 1), loader=loader(num_workers=0, **{**PYTHON, "load_ms": 1.0, "item_ms": 0.004})),
}
UNKNOWN = {
    "batch size unknown": case(window(70, 60), loader=loader(num_workers=0, **{**PYTHON, "batch_size": None})),
    "no CPU budget": case(window(70, 60), loader=loader(num_workers=0, **PYTHON), host_facts=host(cpu_budget=None)),
}
