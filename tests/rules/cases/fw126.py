"""Cases for FW126."""

from dataclasses import replace

from tests.rules.build import EpochBoundaries, PyDatasetFacts, case, keras_host, stage, tf_data, window

AHEAD = stage("Prefetch", 0.1, buffer_size=-1)
DECODE = stage("ParallelMap", 300.0, parallelism=-1, parallelism_now=4, tunable=True)


def work(*more, size=200_000_000, first=DECODE):
    return tf_data(stage("TFRecord", 5.0), first, *more, stage("Batch", 1.0), AHEAD, epoch_bytes=size, works_ahead=True)


SAME = PyDatasetFacts("Photos", 1, use_multiprocessing=False, max_queue_size=10, random=False, batch_bytes=2_000_000)

FIRES = {
    "decoding in every epoch": case(window(80, 40), tf=work()),
    "before random augmentation": case(window(80, 40), tf=work(stage("Map", 5.0, random=True, function="flip"))),
    "behind a shuffle of the names": case(
        window(80, 40),
        tf=tf_data(
            stage("FromTensorSlices", 0.1),
            stage("Shuffle", 0.1, buffer_size=1000),
            stage("ParallelMap", 300.0, parallelism=-1, parallelism_now=4, element_bytes=100_000),
            stage("Batch", 1.0),
            AHEAD,
            endless=False,
            works_ahead=True,
        ),
    ),
    "a PyDataset that makes the same batches in every epoch": case(
        window(80, 60), pydataset=SAME, load_ms=78.0, boundaries=EpochBoundaries(count=4, median_ms=3.0)
    ),
    "a PyDataset whose batches are drawn from the same items": case(
        window(80, 60),
        pydataset=replace(SAME, random=True),
        load_ms=78.0,
        boundaries=EpochBoundaries(count=4, median_ms=3.0),
    ),
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
    "a PyDataset of random batches that keeps up": case(
        window(80, 1),
        pydataset=replace(SAME, random=True),
        load_ms=30.0,
        boundaries=EpochBoundaries(count=4, median_ms=3.0),
    ),
    "one epoch only": case(window(80, 40), tf=work(), boundaries=EpochBoundaries()),
}
UNKNOWN = {
    "nobody knows whether its batches differ": case(window(80, 60), pydataset=replace(SAME, random=None), load_ms=78.0),
    "a generator may have no end": case(
        window(80, 40), tf=work(), boundaries=EpochBoundaries(count=4, median_ms=3.0, first_fetch_ms=2.0)
    ),
    "size unknown": case(window(80, 40), tf=work(size=None)),
    "free memory unknown": case(window(80, 40), tf=work(), host_facts=keras_host(ram_available_gb=None)),
    "nobody looked for random ops": case(
        window(80, 40), tf=tf_data(stage("Map", 300.0, random=None), stage("Batch", 1.0), AHEAD, epoch_bytes=10**8)
    ),
}
