"""Cases for FW205."""

from tests.rules.build import batch, case, cuda, loader, transfers, window

FAST = loader(load_ms=20.0, num_workers=4, pin_memory=True)
SMALL = transfers(kind="pinned", copies=200, mb=2.0)

FIRES = {
    "a hundred little tensors": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=batch(tensors=100, size_bytes=2_000_000), transfers=SMALL
    )
}
SILENT = {
    "two tensors": case(window(50, 0.1), loader=FAST, of=cuda(), batch=batch(tensors=2), transfers=SMALL),
    "large ones": case(
        window(50, 0.1),
        loader=FAST,
        of=cuda(),
        batch=batch(tensors=100),
        transfers=transfers(kind="pinned", copies=100, mb=200.0),
    ),
    "they cost nothing": case(
        window(50, 0.1),
        loader=FAST,
        of=cuda(),
        batch=batch(tensors=100),
        transfers=transfers(kind="pinned", copies=200, mb=2.0, copy_ms=0.5),
    ),
}
UNKNOWN = {
    "no batch seen": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=SMALL),
    "no profiler window": case(
        window(50, 0.1, h2d_ms=10.0, starved_ms=0.1), loader=FAST, of=cuda(), batch=batch(tensors=100)
    ),
}
