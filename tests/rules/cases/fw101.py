"""Cases for FW101."""

from tests.rules.build import case, host, loader, window

FIRES = {
    "one process loads and trains": case(window(212, 180), loader=loader(num_workers=0, prefetch_factor=None)),
    "the wait is the load when nothing was measured inside": case(window(), loader=loader(num_workers=0, load_ms=None)),
    "training runs on the same CPUs": case(
        window(60, 30), loader=loader(num_workers=0, load_ms=30.0), host_facts=host(cpu_budget=4.0, cpu_used=1.1)
    ),
    "items that wait get more workers than there are CPUs": case(
        window(100, 90),
        loader=loader(num_workers=0, load_ms=90.0, cpu_share=0.05),
        host_facts=host(cpu_budget=2.0, cpu_used=0.2, process_cpus=0.2),
    ),
}
SILENT = {
    "healthy": case(window(100, 1), loader=loader(num_workers=0, load_ms=1.0)),
    "whole batches of a tensor in memory": case(
        window(12, 4), loader=loader(num_workers=0, load_ms=4.0, batch_size=None, dataset_bytes=10**6)
    ),
    "it has workers": case(window(), loader=loader(num_workers=2)),
    "items so cheap that handing them over costs more": case(window(3, 0.5), loader=loader(num_workers=0, load_ms=0.5)),
    "the only CPU is busy already": case(
        window(60, 30),
        loader=loader(num_workers=0, load_ms=30.0),
        host_facts=host(cpu_budget=1.0, cpu_used=1.0, process_cpus=1.0, training_cpus=0.98),
    ),
}
UNKNOWN = {
    "no CPU budget": case(window(), loader=loader(num_workers=0), host_facts=host(cpu_budget=None)),
    "no loader": case(window()),
    "no steps": case(None, loader=loader(num_workers=0)),
}
