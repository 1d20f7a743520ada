"""Cases for FW128."""

from tests.rules.build import EpochBoundaries, case, stage, tf_data, window

SLOW = EpochBoundaries(count=5, median_ms=920.0, share=0.3, loader_start_ms=1.0, first_fetch_ms=920.0)
QUICK = EpochBoundaries(count=5, median_ms=20.0, share=0.01, first_fetch_ms=20.0)
AHEAD = stage("Prefetch", 0.1, buffer_size=-1)


def shuffled(buffer=640, before=()):
    return tf_data(
        stage("FromTensorSlices", 0.02),
        *before,
        stage("Map", 45.0),
        stage("Shuffle", 0.1, buffer_size=buffer),
        stage("Batch", 1.0),
        AHEAD,
    )


FIRES = {"a large buffer behind the decode": case(window(50, 1), tf=shuffled(), boundaries=SLOW)}
SILENT = {
    "a quick start": case(window(50, 1), tf=shuffled(buffer=32), boundaries=QUICK),
    "a small buffer": case(window(50, 1), tf=shuffled(buffer=64), boundaries=SLOW),
    "shuffled before the work": case(
        window(50, 1),
        tf=tf_data(
            stage("FromTensorSlices", 0.02),
            stage("Shuffle", 0.1, buffer_size=2000),
            stage("Map", 5.0),
            stage("Batch", 1.0),
            AHEAD,
        ),
        boundaries=SLOW,
    ),
    "out of a cache": case(
        window(50, 1),
        tf=tf_data(
            stage("TFRecord", 5.0),
            stage("Map", 5.0),
            stage("Cache"),
            stage("Shuffle", 0.1, buffer_size=2000),
            stage("Batch", 1.0),
        ),
        boundaries=SLOW,
    ),
}
UNKNOWN = {
    "one epoch": case(window(50, 1), tf=shuffled(), boundaries=EpochBoundaries()),
    "buffer unknown": case(window(50, 1), tf=shuffled(buffer=None), boundaries=SLOW),
}
