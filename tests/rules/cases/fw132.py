"""Cases for FW132."""

from tests.rules.build import case, keras_host, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)
FULL = keras_host(cpu_used=7.8)


def busy(**changes):
    slow = stage("ParallelMap", 600.0, **{"parallelism": -1, "parallelism_now": 8, "tunable": True, **changes})
    return tf_data(stage("TFRecord", 5.0), slow, stage("Batch", 1.0), AHEAD, works_ahead=True)


FIRES = {"AUTOTUNE has used up the CPUs": case(window(85, 45), tf=busy(), host_facts=FULL)}
SILENT = {
    "CPUs are left": case(window(85, 45), tf=busy(), host_facts=keras_host(cpu_used=3.0)),
    "healthy": case(window(85, 0.1), tf=busy(), host_facts=FULL),
    "parallelism is fixed": case(window(85, 45), tf=busy(parallelism=2, parallelism_now=2), host_facts=FULL),
}
UNKNOWN = {
    "no CPU budget": case(window(85, 45), tf=busy(), host_facts=keras_host(cpu_budget=None, cpu_used=7.8)),
    "no stage times": case(window(85, 45), tf=tf_data(stage("ParallelMap", parallelism=-1), AHEAD), host_facts=FULL),
}
