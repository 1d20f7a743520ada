"""Cases for FW401."""

from tests.rules.build import case, cuda, torch_run, transfers, window

FIRES = {"a profiler of the user's": case(window(50, 0.1), of=cuda(other_profiler="PyTorchProfiler"))}
SILENT = {
    "ours had its window before": case(
        window(50, 0.1), of=cuda(other_profiler="PyTorchProfiler"), transfers=transfers(copy_ms=0.1, idle=0.01)
    ),
    "a CPU has no copies": case(window(50, 0.1), of=torch_run(other_profiler="PyTorchProfiler")),
}
UNKNOWN = {
    "no other profiler": case(window(50, 0.1), of=cuda()),
    "no steps": case(None, of=cuda(other_profiler="PyTorchProfiler")),
}
