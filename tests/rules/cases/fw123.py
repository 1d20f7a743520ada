"""Cases for FW123."""

from tests.rules.build import case, keras_host, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)


def reading(reader, files=16):
    return tf_data(reader, stage("Map", 5.0), stage("Batch", 1.0), AHEAD, file_count=files, works_ahead=True)


FIRES = {
    "TFRecord files one by one": case(window(90, 60), tf=reading(stage("TFRecord", 80.0))),
    "a serial interleave": case(window(90, 60), tf=reading(stage("Interleave", 80.0))),
}
SILENT = {
    "healthy": case(window(90, 0.1), tf=reading(stage("TFRecord", 80.0))),
    "one file": case(window(90, 60), tf=reading(stage("TFRecord", 80.0), files=1)),
    "interleaved": case(
        window(90, 60),
        tf=tf_data(stage("TFRecord", 80.0), stage("ParallelInterleave", 1.0, parallelism=-1), AHEAD, file_count=16),
    ),
    "the map is slower": case(
        window(90, 60), tf=tf_data(stage("TFRecord", 8.0), stage("Map", 80.0), AHEAD, file_count=16)
    ),
}
UNKNOWN = {
    "number of files unknown": case(window(90, 60), tf=reading(stage("TFRecord", 80.0), files=None)),
    "no CPU budget": case(window(90, 60), tf=reading(stage("TFRecord", 80.0)), host_facts=keras_host(cpu_budget=None)),
}
