"""Cases for FW126."""

from tests.rules.build import EpochBoundaries, case, host, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)
DECODE = stage("ParallelMap", 300.0, parallelism=-1, parallelism_now=4, tunable=True)


def work(*more, size=200_000_000, first=DECODE):
    return tf_data(stage("TFRecord", 5.0), first, *more, stage("Batch", 1.0), AHEAD, epoch_bytes=size, works_ahead=True)


FIRES = {
    "decoding in every epoch": case(window(80, 40), tf=work()),
    "before random augmentation": case(window(80, 40), tf=work(stage("Map", 5.0, random=True, function="flip"))),
    "without a prefetch": case(
        window(110, 80),
        tf=tf_data(stage("TFRecord", 5.0), DECODE, stage("Batch", 1.0), epoch_bytes=10**8, works_ahead=False),
    ),
}
SILENT = {
    "healthy": case(window(80, 0.1), tf=work()),
    "cached": case(window(80, 40), tf=work(stage("Cache"))),
    "it does not fit": case(window(80, 40), tf=work(size=12 * 10**9)),
    "the work is random": case(window(80, 40), tf=work(first=stage("ParallelMap", 300.0, random=True, parallelism=-1))),
    "one epoch only": case(window(80, 40), tf=work(), boundaries=EpochBoundaries()),
}
UNKNOWN = {
    "size unknown": case(window(80, 40), tf=work(size=None)),
    "free memory unknown": case(window(80, 40), tf=work(), host_facts=host(ram_available_gb=None)),
    "nobody looked for random ops": case(
        window(80, 40), tf=tf_data(stage("Map", 300.0, random=None), stage("Batch", 1.0), AHEAD, epoch_bytes=10**8)
    ),
}
