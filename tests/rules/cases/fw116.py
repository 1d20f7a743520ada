"""Cases for FW116."""

from dataclasses import replace

from tests.rules.build import case, cuda, host, loader, window

# Two math threads and two workers on two CPUs: the training thread is ready and waits for one.
SHARED = host(cpu_budget=2.0, cpu_used=2.0, process_cpus=1.3, training_cpus=0.6, training_delay=0.3)
SPINNING = loader(num_workers=2, load_ms=30.0, math_threads=2, cpu_share=0.6, core_wait_share=0.35, blocked_share=0.05)

FIRES = {
    "two threads and two workers on two CPUs": case(window(30, 2), loader=SPINNING, host_facts=SHARED),
    "workers that would meet two threads": case(
        window(60, 30), loader=replace(SPINNING, num_workers=0), host_facts=SHARED
    ),
}
SILENT = {
    "CPUs for all of them": case(window(30, 2), loader=SPINNING, host_facts=replace(SHARED, cpu_budget=8.0)),
    "one thread": case(window(30, 2), loader=replace(SPINNING, math_threads=1), host_facts=SHARED),
    "no workers, and items that wait": case(
        window(60, 30), loader=replace(SPINNING, num_workers=0, cpu_share=0.2), host_facts=SHARED
    ),
    "the training thread gets its CPU": case(
        window(30, 2), loader=SPINNING, host_facts=replace(SHARED, training_delay=0.01)
    ),
    "the step runs on a device": case(window(30, 2), loader=SPINNING, host_facts=SHARED, of=cuda()),
}
UNKNOWN = {
    "threads unknown": case(window(30, 2), loader=replace(SPINNING, math_threads=None), host_facts=SHARED),
    "waiting for a CPU not measured": case(
        window(30, 2), loader=SPINNING, host_facts=replace(SHARED, training_delay=None)
    ),
    "no CPU budget": case(window(30, 2), loader=SPINNING, host_facts=replace(SHARED, cpu_budget=None)),
}
