"""Cases for FW109."""

from feedwatch.model.pipeline import WorkerTime
from tests.rules.build import case, loader, window


def workers(*works):
    return tuple(WorkerTime(index, count, fetch_ms, 1.0, 0.5) for index, (count, fetch_ms) in enumerate(works))


FIRES = {
    "one shard is larger": case(
        window(60, 30, steps=100),
        loader=loader(num_workers=4, workers=workers((60, 80.0), (10, 80.0), (10, 80.0), (10, 80.0))),
    ),
}
SILENT = {
    "the busiest idles most of the time": case(
        window(60, 30, steps=400), loader=loader(workers=workers((60, 80.0), (10, 80.0), (10, 80.0)))
    ),
    "fair shares": case(window(60, 30), loader=loader(workers=workers((20, 80.0), (21, 82.0)))),
    "healthy": case(window(60, 0.1), loader=loader(workers=workers((60, 80.0), (10, 80.0), (10, 80.0)))),
    "too few batches to tell": case(window(60, 30), loader=loader(workers=workers((3, 80.0), (1, 80.0)))),
}
UNKNOWN = {
    "workers not timed": case(window(60, 30), loader=loader(workers=workers((60, None), (10, None)))),
    "no workers seen": case(window(60, 30), loader=loader(workers=())),
}
