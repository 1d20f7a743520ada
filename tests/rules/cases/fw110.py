"""Cases for FW110."""

from tests.rules.build import case, host, loader, window

LATE = {"ready_share": 0.05, "cpu_share": 0.97, "core_wait_share": 0.02, "blocked_share": 0.01}

FIRES = {
    "all CPUs in use": case(
        window(120, 80),
        loader=loader(num_workers=4, load_ms=400.0, **LATE),
        host_facts=host(cpu_budget=4.0, cpu_used=3.9, process_cpus=0.35),
    ),
    "workers wait for a core": case(
        window(120, 80),
        loader=loader(
            num_workers=2, load_ms=230.0, cpu_share=0.75, core_wait_share=0.24, blocked_share=0.01, ready_share=0.05
        ),
        host_facts=host(cpu_budget=2.0, cpu_used=2.0, process_cpus=0.35),
    ),
}
SILENT = {
    "CPUs are left": case(window(92, 60), loader=loader(), host_facts=host(cpu_budget=8.0, cpu_used=3.0)),
    "healthy": case(window(100, 1), loader=loader(), host_facts=host(cpu_budget=2.0, cpu_used=2.0)),
    "somebody else is busy, the workers wait for storage": case(
        window(92, 60), loader=loader(cpu_share=0.1, blocked_share=0.8), host_facts=host(cpu_budget=2.0, cpu_used=1.9)
    ),
}
UNKNOWN = {
    "nobody knows whether batches were ready": case(
        window(120, 80), loader=loader(num_workers=4, load_ms=400.0), host_facts=host(cpu_budget=4.0, cpu_used=3.9)
    ),
    "no CPU budget": case(window(92, 60), loader=loader(), host_facts=host(cpu_budget=None)),
}
