"""Cases for FW402."""

from tests.rules.build import case, cuda, torch_run, transfers, window

FAILED = transfers(devices=False, problems=("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",))

FIRES = {
    "not permitted": case(window(50, 0.1), of=cuda(), transfers=FAILED),
    "not installed": case(
        window(50, 0.1), of=cuda(), transfers=transfers(devices=False, problems=("libcupti could not be loaded",))
    ),
}
SILENT = {
    "it works": case(window(50, 0.1), of=cuda(), transfers=transfers(copy_ms=0.1, idle=0.01)),
    "no device": case(window(50, 0.1), of=torch_run(), transfers=FAILED),
}
UNKNOWN = {
    "no window was taken": case(window(50, 0.1), of=cuda()),
    "empty without a reason": case(window(50, 0.1), of=cuda(), transfers=transfers(devices=False)),
}
