"""Cases for FW118."""

from tests.rules.build import batch, case, host, loader, window

NARROW = host(shm_free_gb=0.064, cpu_used=1.2)
LARGE = batch(size_bytes=20_000_000)

FIRES = {
    "64 MB of shared memory": case(window(212, 180), loader=loader(num_workers=0), host_facts=NARROW, batch=LARGE),
    "a container with little memory": case(
        window(92, 60),
        loader=loader(num_workers=2, load_ms=180.0, worker_rss_mb=900.0),
        host_facts=host(ram_available_gb=1.0),
    ),
}
SILENT = {
    "there is room": case(
        window(212, 180), loader=loader(num_workers=0), host_facts=host(shm_free_gb=8.0), batch=LARGE
    ),
    "workers would not help": case(
        window(100, 1), loader=loader(num_workers=0, load_ms=1.0), host_facts=NARROW, batch=LARGE
    ),
    "it has all it needs": case(window(100, 1), loader=loader(num_workers=4), host_facts=NARROW, batch=LARGE),
}
UNKNOWN = {
    "free memory not known": case(window(212, 180), loader=loader(num_workers=0), batch=LARGE),
    "the batch was not seen": case(window(212, 180), loader=loader(num_workers=0), host_facts=NARROW),
    "no CPU budget": case(
        window(212, 180), loader=loader(num_workers=0), host_facts=host(cpu_budget=None, shm_free_gb=0.064), batch=LARGE
    ),
}
