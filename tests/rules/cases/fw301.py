"""Cases for FW301."""

from tests.rules.build import DeviceFacts, case, cuda, keras_run, transfers, window

SHORT = transfers(copy_ms=0.1, idle=0.7, kernels=20_000, kernel_us=8.0)
IDLE = DeviceFacts(utilisation=0.2)

FIRES = {
    "many short kernels": case(window(50, 0.1), of=cuda(), transfers=SHORT),
    "Keras on TensorFlow": case(window(50, 0.1), of=keras_run(device_kind="cuda"), transfers=SHORT),
    "Keras on torch": case(window(50, 0.1), of=keras_run(device_kind="cuda", backend="torch"), transfers=SHORT),
    "Keras on JAX": case(window(50, 0.1), of=keras_run(device_kind="cuda", backend="jax"), transfers=SHORT),
    "no profiler window, but NVML sees an idle device": case(window(50, 0.1), of=cuda(), device=IDLE),
}
SILENT = {
    "busy": case(window(50, 0.1), of=cuda(), transfers=transfers(copy_ms=0.1, idle=0.02)),
    "busy for NVML": case(window(50, 0.1), of=cuda(), device=DeviceFacts(utilisation=0.93)),
    "the window is asked before NVML": case(
        window(50, 0.1), of=cuda(), device=IDLE, transfers=transfers(copy_ms=0.1, idle=0.02)
    ),
    "long kernels": case(
        window(50, 0.1), of=cuda(), transfers=transfers(copy_ms=0.1, idle=0.7, kernels=100, kernel_us=900.0)
    ),
    "it waits for input": case(window(50, 40.0), of=cuda(), transfers=transfers(copy_ms=0.1, idle=0.8)),
    "it waits for input, without a window": case(window(50, 40.0), of=cuda(), device=IDLE),
}
UNKNOWN = {"neither profiler window nor NVML": case(window(50, 0.1), of=cuda())}
