"""Cases for FW306."""

from tests.rules.build import DeviceFacts, case, cuda, keras_run, transfers, window

BUSY = DeviceFacts(utilisation=0.96)
WINDOW = transfers(copy_ms=0.1, idle=0.02)
AMPERE = {"tensor_cores": True, "capability": (8, 6), "tf32": False, "precision": "32-true"}
TURING = {**AMPERE, "capability": (7, 5)}

FIRES = {
    "Lightning": case(window(50, 0.1), of=cuda(**AMPERE), device=BUSY),
    "without bfloat16 units": case(window(50, 0.1), of=cuda(**TURING), device=BUSY),
    "in TF32 there is less to gain": case(window(50, 0.1), of=cuda(**{**AMPERE, "tf32": True}), device=BUSY),
    "a window says that it is busy": case(window(50, 0.1), of=cuda(**AMPERE), transfers=WINDOW),
    "Keras": case(window(50, 0.1), of=keras_run(device_kind="cuda", **{**AMPERE, "precision": "float32"}), device=BUSY),
}
SILENT = {
    "mixed already": case(window(50, 0.1), of=cuda(**{**AMPERE, "precision": "bf16-mixed"}), device=BUSY),
    "no tensor cores": case(window(50, 0.1), of=cuda(**{**AMPERE, "tensor_cores": False}), device=BUSY),
    "it waits for input": case(window(50, 20.0), of=cuda(**AMPERE), device=BUSY),
    "it waits for launches": case(window(50, 0.1), of=cuda(**AMPERE), device=DeviceFacts(utilisation=0.2)),
}
UNKNOWN = {
    "device unknown": case(window(50, 0.1), of=cuda(**{**AMPERE, "tensor_cores": None}), device=BUSY),
    "its units unknown": case(window(50, 0.1), of=cuda(**{**AMPERE, "capability": None}), device=BUSY),
    "TF32 unknown": case(window(50, 0.1), of=cuda(**{**AMPERE, "tf32": None}), device=BUSY),
    "precision unknown": case(window(50, 0.1), of=cuda(**{**AMPERE, "precision": None}), device=BUSY),
    "nobody saw whether it is busy": case(window(50, 0.1), of=cuda(**AMPERE)),
}
