"""Cases for FW201."""

from tests.rules.build import case, cuda, keras_run, loader, stage, tf_data, torch_run, transfers, window

FAST = loader(load_ms=20.0, num_workers=4)

FIRES = {
    "pageable copies in a profile": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers()),
    "no pin_memory, copies on the device clock": case(
        window(50, 0.1, h2d_ms=10.0, starved_ms=0.1), loader=FAST, of=cuda()
    ),
    "TensorFlow": case(
        window(50, 0.1),
        tf=tf_data(stage("TFRecord", 1.0), stage("Prefetch", 0.1)),
        of=keras_run(device_kind="cuda"),
        transfers=transfers(),
    ),
}
SILENT = {
    "pinned": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers(kind="pinned")),
    "hidden": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers(hidden_ms=9.9)),
    "no device": case(window(50, 0.1), loader=FAST, of=torch_run(), transfers=transfers()),
}
UNKNOWN = {
    "copies not measured": case(window(50, 0.1), loader=FAST, of=cuda()),
    "host time of the copy only": case(window(50, 0.1, h2d_ms=10.0), loader=FAST, of=cuda()),
}
