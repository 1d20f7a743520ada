"""Cases for FW301."""

from tests.rules.build import case, cuda, keras_run, transfers, window

SHORT = transfers(copy_ms=0.1, idle=0.7, kernels=20_000, kernel_us=8.0)

FIRES = {
    "many short kernels": case(window(50, 0.1), of=cuda(), transfers=SHORT),
    "Keras": case(window(50, 0.1), of=keras_run(device_kind="cuda"), transfers=SHORT),
}
SILENT = {
    "busy": case(window(50, 0.1), of=cuda(), transfers=transfers(copy_ms=0.1, idle=0.02)),
    "long kernels": case(
        window(50, 0.1), of=cuda(), transfers=transfers(copy_ms=0.1, idle=0.7, kernels=100, kernel_us=900.0)
    ),
    "it waits for input": case(window(50, 40.0), of=cuda(), transfers=transfers(copy_ms=0.1, idle=0.8)),
}
UNKNOWN = {"no profiler window": case(window(50, 0.1), of=cuda())}
