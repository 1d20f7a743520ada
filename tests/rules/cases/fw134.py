"""Cases for FW134."""

from tests.rules.build import EpochBoundaries, case, keras_host, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)
# The decode and the step want the same two CPUs.
FULL = keras_host(cpu_budget=2.0, cpu_used=1.95, process_cpus=1.95, process_delay=1.5, machine_cpu_share=0.98)


def decoding(size=4000, **changes):
    settings = {"endless": False, "works_ahead": True, "cpu_budget": 2, **changes}
    return tf_data(
        stage("TFRecord", 1.0),
        stage("ParallelMap", 60.0, element_bytes=size, parallelism=-1, parallelism_now=2, tunable=True),
        stage("Batch", 1.0),
        AHEAD,
        **settings,
    )


# A Python function beside a step that uses both CPUs: it may only wait.
WAITING = tf_data(
    stage("TFRecord", 1.0),
    stage("ParallelMap", 60.0, element_bytes=4000, parallelism=2, parallelism_now=2, python=True),
    stage("Batch", 1.0),
    AHEAD,
    endless=False,
    works_ahead=True,
    cpu_budget=2,
)


FIRES = {
    "decoding beside a step on two CPUs": case(window(50, 1), tf=decoding(), host_facts=FULL),
    "the size is known from the shapes": case(
        window(50, 1), tf=decoding(size=None, epoch_bytes=10**7, elements_per_batch=None), host_facts=FULL
    ),
}
SILENT = {
    "CPUs for both": case(window(50, 1), tf=decoding(), host_facts=keras_host(process_cpus=2.2, process_delay=0.01)),
    "it does not fit": case(
        window(50, 1),
        tf=decoding(),
        host_facts=keras_host(
            cpu_budget=2.0,
            cpu_used=1.95,
            process_cpus=1.95,
            process_delay=1.5,
            machine_cpu_share=0.98,
            ram_available_gb=0.0001,
        ),
    ),
    "Python that may only wait": case(window(50, 1), tf=WAITING, host_facts=FULL),
    "one epoch only": case(window(50, 1), tf=decoding(), host_facts=FULL, boundaries=EpochBoundaries()),
}
UNKNOWN = {
    "free memory unknown": case(
        window(50, 1),
        tf=decoding(),
        host_facts=keras_host(cpu_budget=2.0, cpu_used=1.95, process_delay=1.5, ram_available_gb=None),
    ),
    "no CPU budget": case(window(50, 1), tf=decoding(), host_facts=keras_host(cpu_budget=None)),
}
