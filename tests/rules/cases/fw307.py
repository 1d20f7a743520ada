"""Cases for FW307."""

from tests.rules.build import case, cuda, transfers, window

TINY = transfers(copy_ms=0.01, idle=0.92, step_ms=2.0, kernels=400, kernel_us=4.0)

FIRES = {"a toy model": case(window(2.0, 0.01, other_ms=0.1), of=cuda(), transfers=TINY)}
SILENT = {
    "long steps": case(window(50, 0.1), of=cuda(), transfers=transfers(copy_ms=0.1, idle=0.92)),
    "busy enough": case(
        window(2.0, 0.01, other_ms=0.1), of=cuda(), transfers=transfers(copy_ms=0.01, idle=0.4, step_ms=2.0)
    ),
}
UNKNOWN = {
    "batch size unknown": case(window(2.0, 0.01, other_ms=0.1), of=cuda(batch_size=None), transfers=TINY),
    "idle share unknown": case(window(2.0, 0.01, other_ms=0.1), of=cuda()),
}
