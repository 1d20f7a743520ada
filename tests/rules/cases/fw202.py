"""Cases for FW202."""

from tests.rules.build import batch, case, cuda, loader, transfers, window

FAST = loader(load_ms=20.0, num_workers=4, pin_memory=True)
PINNED = transfers(kind="pinned")
CUSTOM = batch(custom_transfer="transfer_batch_to_device", non_blocking=False, pinned=True)

FIRES = {"a custom transfer that waits": case(window(50, 0.1), loader=FAST, of=cuda(), batch=CUSTOM, transfers=PINNED)}
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
