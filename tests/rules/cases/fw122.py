"""Cases for FW122."""

from tests.rules.build import case, keras_host, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)


def fixed(calls=2, **changes):
    slow = stage("ParallelMap", 120.0, parallelism=calls, parallelism_now=calls, **changes)
    return tf_data(stage("FromTensorSlices", 0.2), slow, stage("Batch", 1.0), AHEAD, works_ahead=True)


FIRES = {"two calls on eight CPUs": case(window(62, 40), tf=fixed())}
SILENT = {
    "healthy": case(window(100, 0.1), tf=fixed()),
    "as many calls as CPUs": case(window(62, 40), tf=fixed(8)),
    "all CPUs are busy": case(window(62, 40), tf=fixed(), host_facts=keras_host(cpu_used=7.9)),
    "AUTOTUNE": case(
        window(62, 40),
        tf=tf_data(stage("ParallelMap", 120.0, parallelism=-1, parallelism_now=2), stage("Batch", 1.0), AHEAD),
    ),
}
UNKNOWN = {
    "no CPU budget": case(window(62, 40), tf=fixed(), host_facts=keras_host(cpu_budget=None)),
    "no stage times": case(window(62, 40), tf=tf_data(stage("ParallelMap", parallelism=2), stage("Batch"))),
}
