"""Cases for FW103."""

from dataclasses import replace

from tests.rules.build import EpochBoundaries, case, host, loader, torch_run, window

CROWDED = host(cpu_budget=4.0, cpu_used=4.0, process_cpus=0.6, training_cpus=0.5, training_delay=0.05)
TOO_MANY = loader(
    num_workers=16, load_ms=300.0, cpu_share=0.2, core_wait_share=0.79, blocked_share=0.01, ready_share=0.9
)
# Sixteen processes start on four CPUs, in every epoch.
STARTS = EpochBoundaries(count=4, median_ms=2000.0, share=0.3, loader_start_ms=1500.0, first_fetch_ms=500.0)

FIRES = {
    "16 workers on 4 CPUs": case(window(100, 5), loader=TOO_MANY, host_facts=CROWDED, boundaries=STARTS),
    "four ranks forgot each other": case(
        window(100, 5),
        loader=TOO_MANY,
        of=torch_run(local_ranks=4, world_size=4),
        host_facts=replace(CROWDED, cpu_budget=16.0),
        boundaries=STARTS,
    ),
}
SILENT = {
    "workers that wait for storage": case(window(100, 2), loader=loader(num_workers=16, core_wait_share=0.01)),
    "others fill the machine": case(
        window(100, 40),
        loader=loader(num_workers=16, core_wait_share=0.6),
        host_facts=host(cpu_budget=4.0, cpu_used=1.0, machine_cpu_share=1.0),
    ),
    "within the budget": case(window(100, 40), loader=loader(num_workers=8, core_wait_share=0.5)),
}
UNKNOWN = {
    "core wait not measured": case(window(100, 40), loader=loader(num_workers=16, core_wait_share=None)),
    "no CPU budget": case(
        window(), loader=loader(num_workers=16, core_wait_share=0.5), host_facts=host(cpu_budget=None)
    ),
}
