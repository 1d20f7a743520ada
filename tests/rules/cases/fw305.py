"""Cases for FW305."""

from tests.rules.build import DeviceFacts, case, cuda, torch_run, transfers, window

IDLE = transfers(copy_ms=0.1, idle=0.4)

FIRES = {
    "loss.item() at every step": case(
        window(50, 0.1), of=cuda(synchronises="Trainer.log(prog_bar=True)"), transfers=IDLE
    ),
    "without a profiler window, as NVML sees it": case(
        window(50, 0.1), of=cuda(synchronises="log"), device=DeviceFacts(utilisation=0.6)
    ),
}
SILENT = {
    "the device is busy all the same": case(
        window(50, 0.1), of=cuda(synchronises="log"), transfers=transfers(copy_ms=0.1, idle=0.01)
    ),
    "on a CPU": case(window(50, 0.1), of=torch_run(synchronises="log"), transfers=IDLE),
}
UNKNOWN = {
    "nobody reads": case(window(50, 0.1), of=cuda(synchronises=None), transfers=IDLE),
    "idle share unknown": case(window(50, 0.1), of=cuda(synchronises="log")),
}
