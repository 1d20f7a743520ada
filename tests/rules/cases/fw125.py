"""Cases for FW125."""

from tests.rules.build import case, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)
CHEAP = stage("Map", 12.8, ms_per_element=0.025)


def cheap(one=CHEAP, elements=512):
    return tf_data(
        stage("FromTensorSlices", 0.2), one, stage("Batch", 1.0), AHEAD, elements_per_batch=elements, works_ahead=True
    )


FIRES = {
    "a cast per element": case(window(14, 10), tf=cheap()),
    "in parallel": case(
        window(14, 10), tf=cheap(stage("ParallelMap", 25.0, ms_per_element=0.05, parallelism=-1, parallelism_now=2))
    ),
}
SILENT = {
    "healthy": case(window(40, 0.1), tf=cheap()),
    "elements are real work": case(window(80, 60), tf=cheap(stage("Map", 70.0, ms_per_element=2.0), elements=32)),
    "it maps batches already": case(
        window(14, 10),
        tf=tf_data(stage("FromTensorSlices", 0.2), stage("Batch", 1.0), CHEAP, AHEAD, elements_per_batch=512),
    ),
    "each call reads a file": case(
        window(14, 10), tf=cheap(stage("Map", 12.8, ms_per_element=0.025, opens_files=True))
    ),
    "small batches": case(window(14, 10), tf=cheap(elements=4)),
}
UNKNOWN = {
    "no stage times": case(window(14, 10), tf=cheap(stage("Map"))),
    "batch size unknown": case(window(14, 10), tf=cheap(elements=None)),
    "nobody looked for Python in it": case(
        window(14, 10), tf=cheap(stage("Map", 12.8, ms_per_element=0.025, python=None))
    ),
}
