"""Cases for FW103."""

from tests.rules.build import case, host, loader, torch_run, window

FIRES = {
    "16 workers on 4 CPUs": case(
        window(100, 40),
        loader=loader(num_workers=16, core_wait_share=0.6),
        host_facts=host(cpu_budget=4.0, cpu_used=4.0),
    ),
    "eight ranks forgot each other": case(
        window(100, 2), loader=loader(num_workers=4, core_wait_share=0.5), of=torch_run(local_ranks=8, world_size=8)
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
