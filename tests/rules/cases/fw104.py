"""Cases for FW104."""

from tests.rules.build import EpochBoundaries, case, loader, window

SLOW = EpochBoundaries(count=10, median_ms=900.0, share=0.3, loader_start_ms=600.0, first_fetch_ms=400.0)
QUICK = EpochBoundaries(count=10, median_ms=30.0, share=0.01, loader_start_ms=10.0, first_fetch_ms=30.0)
AGAIN = loader(persistent_workers=False, load_ms=20.0)

FIRES = {
    "workers start for every epoch": case(window(100, 1), loader=AGAIN, boundaries=SLOW),
    "in an input-bound run too": case(window(100, 40), loader=AGAIN, boundaries=SLOW),
}
SILENT = {
    "they are kept": case(window(100, 1), loader=loader(load_ms=20.0), boundaries=SLOW),
    "the start is quick": case(window(100, 1), loader=AGAIN, boundaries=QUICK),
    "no workers": case(window(100, 1), loader=loader(num_workers=0, persistent_workers=False), boundaries=SLOW),
}
UNKNOWN = {
    "start not measured": case(
        window(100, 1), loader=AGAIN, boundaries=EpochBoundaries(count=10, median_ms=900.0, share=0.3)
    ),
    "one epoch": case(window(100, 1), loader=AGAIN, boundaries=EpochBoundaries()),
}
