"""Cases for FW133."""

from tests.rules.build import EpochBoundaries, case, keras_host, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)
SLOW = EpochBoundaries(count=5, median_ms=2500.0, share=0.5, loader_start_ms=0.0, first_fetch_ms=2500.0)
QUICK = EpochBoundaries(count=5, median_ms=3.0, share=0.01, loader_start_ms=0.0, first_fetch_ms=3.0)
SHARED = keras_host(cpu_budget=4.0, process_cpus=1.6)


def filled(*, buffer=100_000, decode=60.0, size=4000, **changes):
    settings = {"endless": False, "works_ahead": True, **changes}
    return tf_data(
        stage("TFRecord", 1.0),
        stage("Map", decode, element_bytes=size),
        stage("Shuffle", 0.2, buffer_size=buffer),
        stage("Batch", 1.0),
        AHEAD,
        **settings,
    )


FIRES = {
    "a buffer as large as the data": case(window(50, 1), tf=filled(), boundaries=SLOW, host_facts=SHARED),
    "the size is known from the shapes": case(
        window(50, 1), tf=filled(size=None, epoch_bytes=10**7), boundaries=SLOW, host_facts=SHARED
    ),
    "no buffer, a slow start": case(
        window(50, 1),
        tf=filled(buffer=None, decode=30.0, elements_per_batch=None, epoch_bytes=10**7, size=None),
        boundaries=SLOW,
        host_facts=SHARED,
    ),
}
SILENT = {
    "a quick start": case(window(62, 42), tf=filled(buffer=1), boundaries=QUICK, host_facts=SHARED),
    "it does not fit": case(
        window(50, 1), tf=filled(), boundaries=SLOW, host_facts=keras_host(cpu_budget=4.0, ram_available_gb=0.0001)
    ),
    "data without an end": case(window(50, 1), tf=filled(endless=True), boundaries=SLOW, host_facts=SHARED),
}
UNKNOWN = {
    "free memory unknown": case(
        window(50, 1), tf=filled(), boundaries=SLOW, host_facts=keras_host(cpu_budget=4.0, ram_available_gb=None)
    ),
    "no CPU budget": case(window(50, 1), tf=filled(), boundaries=SLOW, host_facts=keras_host(cpu_budget=None)),
}
