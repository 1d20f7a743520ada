"""Cases for FW110."""

from tests.rules.build import case, host, loader, window

FIRES = {
    "all CPUs in use": case(
        window(100, 60), loader=loader(num_workers=4, load_ms=350.0), host_facts=host(cpu_budget=4.0, cpu_used=3.9)
    ),
    "workers wait for a core": case(
        window(100, 60),
        loader=loader(num_workers=2, load_ms=180.0, core_wait_share=0.4),
        host_facts=host(cpu_budget=2.0, cpu_used=None),
    ),
    "on a machine that others fill": case(
        window(100, 60),
        loader=loader(num_workers=2, load_ms=180.0, cpu_share=0.4, core_wait_share=0.55, blocked_share=0.05),
        host_facts=host(cpu_budget=2.0, cpu_used=1.0, machine_cpu_share=1.0),
    ),
    "the only CPU is busy": case(
        window(60, 30), loader=loader(num_workers=0, load_ms=30.0), host_facts=host(cpu_budget=1.0, cpu_used=1.0)
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
    "CPU use not measured": case(window(92, 60), loader=loader(core_wait_share=None), host_facts=host(cpu_used=None)),
    "no CPU budget": case(window(92, 60), loader=loader(), host_facts=host(cpu_budget=None)),
}
