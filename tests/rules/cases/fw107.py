"""Cases for FW107."""

from tests.rules.build import case, loader, window

FIRES = {
    "a loop over values": case(
        window(100, 60), loader=loader(num_workers=0, load_ms=60.0, collate_ms=50.0, custom_collate="pad_all")
    ),
    "in workers": case(
        window(100, 60), loader=loader(num_workers=2, load_ms=200.0, collate_ms=150.0, custom_collate="pad_all")
    ),
}
SILENT = {
    "healthy": case(window(100, 1), loader=loader(load_ms=60.0, collate_ms=50.0, custom_collate="pad_all")),
    "reading is the larger part": case(
        window(100, 60), loader=loader(load_ms=200.0, collate_ms=20.0, custom_collate="pad_all")
    ),
    "the default collate": case(window(100, 60), loader=loader(load_ms=200.0, collate_ms=150.0, custom_collate=None)),
}
UNKNOWN = {
    "collate not measured": case(window(100, 60), loader=loader(collate_ms=None, custom_collate="pad_all")),
    "load not measured": case(window(100, 60), loader=loader(load_ms=None, collate_ms=50.0, custom_collate="pad_all")),
}
