"""Cases for FW111."""

from tests.rules.build import case, host, loader, window

WAITING = {"load_ms": 400.0, "cpu_share": 0.1, "blocked_share": 0.88, "core_wait_share": 0.02}

FIRES = {
    "the disk is busy": case(
        window(200, 160), loader=loader(num_workers=2, **WAITING), host_facts=host(iowait_share=0.5)
    ),
    "as many workers as can be, all waiting": case(
        window(60, 30), loader=loader(num_workers=16, **{**WAITING, "load_ms": 800.0})
    ),
}
SILENT = {
    "few workers, idle disk: more of them help": case(window(200, 160), loader=loader(num_workers=2, **WAITING)),
    "healthy": case(window(200, 1), loader=loader(num_workers=8, **WAITING), host_facts=host(iowait_share=0.5)),
    "they compute": case(window(200, 160), loader=loader(num_workers=8), host_facts=host(iowait_share=0.5)),
}
UNKNOWN = {
    "blocking not measured": case(window(200, 160), loader=loader(num_workers=8, blocked_share=None)),
    "no CPU budget": case(window(200, 160), loader=loader(num_workers=8, **WAITING), host_facts=host(cpu_budget=None)),
}
