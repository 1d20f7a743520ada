"""Cases for FW127."""

from tests.rules.build import case, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)
READ = stage("ParallelMap", 300.0, opens_files=True, function="read", parallelism=-1, parallelism_now=4, tunable=True)


def files(one=READ, count=50_000):
    return tf_data(stage("FromTensorSlices", 0.2), one, stage("Batch", 1.0), AHEAD, file_count=count, works_ahead=True)


FIRES = {
    "a file per element": case(window(90, 60), tf=files()),
    "counted by elements": case(
        window(90, 60),
        tf=files(
            stage("ParallelMap", 300.0, opens_files=True, elements=5000, parallelism=-1, parallelism_now=4), count=None
        ),
    ),
}
SILENT = {
    "healthy": case(window(90, 0.1), tf=files()),
    "a few files": case(window(90, 60), tf=files(count=8)),
    "reading is the smaller part": case(
        window(90, 60),
        tf=tf_data(
            stage("Map", 5.0, opens_files=True), stage("Map", 80.0), stage("Batch", 1.0), AHEAD, file_count=50_000
        ),
    ),
    "no files": case(window(90, 60), tf=files(stage("Map", 80.0, opens_files=False))),
}
UNKNOWN = {
    "nobody looked into the function": case(window(90, 60), tf=files(stage("Map", 80.0, opens_files=None))),
    "no stage times": case(window(90, 60), tf=files(stage("Map", opens_files=True))),
}
