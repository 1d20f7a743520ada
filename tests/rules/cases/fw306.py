"""Cases for FW306."""

from tests.rules.build import case, cuda, keras_run, window

FIRES = {
    "Lightning": case(window(50, 0.1), of=cuda(tensor_cores=True, precision="32-true")),
    "Keras": case(window(50, 0.1), of=keras_run(device_kind="cuda", tensor_cores=True, precision="float32")),
}
SILENT = {
    "mixed already": case(window(50, 0.1), of=cuda(tensor_cores=True, precision="bf16-mixed")),
    "no tensor cores": case(window(50, 0.1), of=cuda(tensor_cores=False, precision="32-true")),
    "it waits for input": case(window(50, 20.0), of=cuda(tensor_cores=True, precision="32-true")),
}
UNKNOWN = {
    "device unknown": case(window(50, 0.1), of=cuda(tensor_cores=None, precision="32-true")),
    "precision unknown": case(window(50, 0.1), of=cuda(tensor_cores=True, precision=None)),
}
