"""Cases for FW209."""

from feedwatch.model.transfers import CopyTotals
from tests.rules.build import batch, case, cuda, loader, transfers, window

FAST = loader(load_ms=20.0, num_workers=4, pin_memory=True)
BACK = CopyTotals(10, 10 * 40_000_000, 10 * 8e6)
SMALL = batch(size_bytes=1_000_000)

FIRES = {
    "a large tensor goes back and forth": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=SMALL, transfers=transfers(kind="pinned", to_host=BACK)
    )
}
SILENT = {
    "only the loss comes back": case(
        window(50, 0.1),
        loader=FAST,
        of=cuda(),
        batch=SMALL,
        transfers=transfers(kind="pinned", to_host=CopyTotals(10, 40, 1e4)),
    ),
    "only the batch goes": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=batch(), transfers=transfers(kind="pinned", to_host=BACK)
    ),
}
UNKNOWN = {
    "copies back not seen": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=SMALL, transfers=transfers(kind="pinned")
    ),
    "no batch seen": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers(kind="pinned", to_host=BACK)),
}
