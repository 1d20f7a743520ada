"""Cases for FW113."""

from tests.rules.build import case, loader, window

FIRES = {
    "every worker reads everything": case(
        window(100, 1), loader=loader(iterable=True, num_workers=4, workers_repeat_items=True)
    ),
}
SILENT = {
    "sharded": case(window(100, 1), loader=loader(iterable=True, num_workers=4, workers_repeat_items=False)),
    "one worker": case(window(100, 1), loader=loader(iterable=True, num_workers=1, workers_repeat_items=True)),
    "a map-style data set": case(
        window(100, 1), loader=loader(iterable=False, num_workers=4, workers_repeat_items=True)
    ),
}
UNKNOWN = {
    "nobody compared": case(window(100, 1), loader=loader(iterable=True, num_workers=4, workers_repeat_items=None))
}
