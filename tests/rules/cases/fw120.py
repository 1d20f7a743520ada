"""Cases for FW120."""

from tests.rules.build import case, keras_host, stage, tf_data, window

SLICES = stage("FromTensorSlices", 0.2)
AHEAD = stage("Prefetch", 0.1, buffer_size=-1)


def serial(**changes):
    return tf_data(SLICES, stage("Map", 60.0, **changes), stage("Batch", 1.0, batch_size=32), AHEAD, works_ahead=True)


FIRES = {
    "a serial decode": case(window(62, 42), tf=serial()),
    "without a prefetch": case(
        window(80, 60), tf=tf_data(SLICES, stage("Map", 60.0), stage("Batch", 1.0, batch_size=32), works_ahead=False)
    ),
    "a py_function that only waits": case(window(62, 42), tf=serial(python=True), host_facts=keras_host(cpu_used=0.4)),
    "a lambda has no name": case(window(62, 42), tf=serial(function="<lambda>", source=None)),
}
SILENT = {
    "healthy": case(window(100, 0.1), tf=serial()),
    "already parallel": case(window(62, 42), tf=serial(parallelism=-1, parallelism_now=2, tunable=True)),
    "made parallel by tf.data itself": case(window(62, 42), tf=serial(parallelism_now=4, tunable=True)),
    "the interpreter's lock": case(window(62, 42), tf=serial(python=True), host_facts=keras_host(cpu_used=1.4)),
    "another stage is slower": case(
        window(62, 42), tf=tf_data(stage("TFRecord", 60.0), stage("Map", 5.0), stage("Batch", 1.0), AHEAD)
    ),
    "one CPU": case(window(62, 42), tf=serial(), host_facts=keras_host(cpu_budget=1.0, cpu_used=1.0)),
}
UNKNOWN = {
    "no stage times": case(window(62, 42), tf=tf_data(SLICES, stage("Map"), stage("Batch"), AHEAD)),
    "no CPU budget": case(window(62, 42), tf=serial(), host_facts=keras_host(cpu_budget=None)),
}
