"""Cases for FW202."""

from tests.rules.build import batch, case, cuda, loader, transfers, window

FAST = loader(load_ms=20.0, num_workers=4, pin_memory=True)
PINNED = transfers(kind="pinned")
CUSTOM = batch(custom_transfer="transfer_batch_to_device", non_blocking=False, pinned=True)

FIRES = {
    "a custom transfer that waits": case(window(50, 0.1), loader=FAST, of=cuda(), batch=CUSTOM, transfers=PINNED),
    "the device waits for the host after every copy": case(
        window(50, 0.1, h2d_ms=10.0, other_ms=4.0, starved_ms=0.1), loader=FAST, of=cuda(), batch=CUSTOM
    ),
}
SILENT = {
    "it does not wait": case(
        window(50, 0.1),
        loader=FAST,
        of=cuda(),
        batch=batch(custom_transfer="move", non_blocking=True, pinned=True),
        transfers=PINNED,
    ),
    "the framework's transfer": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=batch(pinned=True), transfers=PINNED
    ),
    "batches come no faster": case(
        window(50, 20, h2d_ms=10.0, starved_ms=20),
        loader=loader(load_ms=200.0, num_workers=4, pin_memory=True),
        of=cuda(),
        batch=CUSTOM,
    ),
    "copies cost nothing": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=CUSTOM, transfers=transfers(kind="pinned", copy_ms=0.5)
    ),
}
UNKNOWN = {
    "nobody saw how it copies": case(
        window(50, 0.1),
        loader=FAST,
        of=cuda(),
        batch=batch(custom_transfer="move", non_blocking=None, pinned=True),
        transfers=PINNED,
    ),
    "no batch seen": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=PINNED),
}
