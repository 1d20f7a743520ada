"""Cases for FW102."""

from tests.rules.build import batch, case, host, loader, torch_run, window

FIRES = {
    "two workers for six": case(window(92, 60), loader=loader(num_workers=2, load_ms=180.0)),
    "two ranks share the CPUs": case(
        window(92, 60),
        loader=loader(num_workers=2, load_ms=180.0),
        of=torch_run(local_ranks=2, world_size=2),
        host_facts=host(cpu_budget=16.0),
    ),
    "workers that sleep may outnumber the CPUs": case(
        window(40, 30),
        loader=loader(num_workers=2, load_ms=80.0, cpu_share=0.05, blocked_share=0.93),
        host_facts=host(cpu_budget=4.0, cpu_used=0.6),
    ),
}
SILENT = {
    "healthy": case(window(100, 1), loader=loader(load_ms=150.0)),
    "no CPU is left": case(window(92, 60), loader=loader(load_ms=180.0), host_facts=host(cpu_budget=2.0, cpu_used=2.0)),
    "the workers keep up on average": case(window(100, 30), loader=loader(load_ms=100.0)),
    "an iterable data set that does not divide itself": case(
        window(92, 60), loader=loader(num_workers=1, load_ms=90.0, iterable=True)
    ),
    "shared memory holds no more": case(
        window(92, 60), loader=loader(load_ms=180.0), host_facts=host(shm_free_gb=0.1), batch=batch(size_bytes=10**7)
    ),
    "a batch is mostly ready, and workers have time left": case(
        window(92, 20), loader=loader(load_ms=100.0, ready_share=0.9)
    ),
    "no workers at all": case(window(), loader=loader(num_workers=0)),
}
UNKNOWN = {
    "load not measured": case(window(92, 60), loader=loader(load_ms=None)),
    "no CPU budget": case(window(92, 60), loader=loader(), host_facts=host(cpu_budget=None)),
}
