"""Cases for FW307."""

from tests.rules.build import QUICK_EPOCHS, DeviceFacts, case, cuda, transfers, window

TINY = transfers(copy_ms=0.01, idle=0.92, step_ms=2.0, kernels=400, kernel_us=4.0)

FIRES = {
    "a toy model": case(window(2.0, 0.01, other_ms=0.1), boundaries=QUICK_EPOCHS, of=cuda(), transfers=TINY),
    "as NVML sees it": case(
        window(2.0, 0.01, other_ms=0.1), boundaries=QUICK_EPOCHS, of=cuda(), device=DeviceFacts(utilisation=0.08)
    ),
}
SILENT = {
    "long steps": case(window(50, 0.1), of=cuda(), transfers=transfers(copy_ms=0.1, idle=0.92)),
    "busy enough": case(
        window(2.0, 0.01, other_ms=0.1),
        boundaries=QUICK_EPOCHS,
        of=cuda(),
        transfers=transfers(copy_ms=0.01, idle=0.4, step_ms=2.0),
    ),
}
UNKNOWN = {
    "batch size unknown": case(
        window(2.0, 0.01, other_ms=0.1), boundaries=QUICK_EPOCHS, of=cuda(batch_size=None), transfers=TINY
    ),
    "idle share unknown": case(window(2.0, 0.01, other_ms=0.1), boundaries=QUICK_EPOCHS, of=cuda()),
}
