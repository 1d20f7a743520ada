"""Cases for FW129."""

from tests.rules.build import case, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)


def ordered(spread=6.0, **changes):
    slow = stage("ParallelMap", 300.0, parallelism=-1, parallelism_now=8, tunable=True, spread=spread, **changes)
    return tf_data(stage("FromTensorSlices", 0.2), slow, stage("Batch", 1.0), AHEAD, works_ahead=True)


FIRES = {"slow elements hold up the others": case(window(80, 40), tf=ordered())}
SILENT = {
    "healthy": case(window(80, 0.1), tf=ordered()),
    "elements are alike": case(window(80, 40), tf=ordered(spread=1.4)),
    "order was given up": case(window(80, 40), tf=ordered(deterministic=False)),
}
UNKNOWN = {"spread not measured": case(window(80, 40), tf=ordered(spread=None))}
