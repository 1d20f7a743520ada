"""Cases for FW124."""

from tests.rules.build import case, keras_host, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)
COMPUTES = keras_host(cpu_used=1.2)


def python(*slow):
    return tf_data(stage("FromTensorSlices", 0.2), *slow, stage("Batch", 1.0), AHEAD, works_ahead=True)


PY_FUNCTION = stage("ParallelMap", 120.0, python=True, parallelism=-1, parallelism_now=2)

FIRES = {
    "a py_function": case(window(80, 60), tf=python(PY_FUNCTION), host_facts=COMPUTES),
    "serial as well": case(window(80, 60), tf=python(stage("Map", 70.0, python=True)), host_facts=COMPUTES),
    "from_generator": case(
        window(80, 60),
        tf=tf_data(stage("FromGenerator", 70.0, python=True), stage("Batch", 1.0), AHEAD),
        host_facts=COMPUTES,
    ),
}
SILENT = {
    "healthy": case(window(80, 0.1), tf=python(PY_FUNCTION), host_facts=COMPUTES),
    "the Python only waits": case(window(80, 60), tf=python(PY_FUNCTION), host_facts=keras_host(cpu_used=0.3)),
    "TensorFlow operations": case(window(80, 60), tf=python(stage("Map", 70.0)), host_facts=COMPUTES),
    "another stage is slower": case(
        window(80, 60), tf=python(stage("Map", 1.0, python=True), stage("Map", 60.0)), host_facts=COMPUTES
    ),
}
UNKNOWN = {
    "no CPU budget": case(window(80, 60), tf=python(PY_FUNCTION), host_facts=keras_host(cpu_budget=None)),
    "no stage times": case(window(80, 60), tf=python(stage("Map", python=True)), host_facts=COMPUTES),
}
