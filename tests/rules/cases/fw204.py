"""Cases for FW204."""

from tests.rules.build import batch, case, cuda, keras_run, loader, transfers, window

FAST = loader(load_ms=20.0, num_workers=4, pin_memory=True)
PINNED = transfers(kind="pinned")

FIRES = {
    "bytes in disguise": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=batch(integral_floats=True), transfers=PINNED
    ),
    "float64": case(
        window(50, 0.1),
        loader=FAST,
        of=cuda(),
        batch=batch(dtypes={"float64": 20_000_000}, integral_floats=False),
        transfers=PINNED,
    ),
    "half precision in the model": case(
        window(50, 0.1),
        loader=FAST,
        of=cuda(precision="bf16-mixed"),
        batch=batch(integral_floats=False),
        transfers=PINNED,
    ),
}
FIRES["Keras"] = case(
    window(50, 0.1),
    kind="arrays",
    of=keras_run(device_kind="cuda"),
    batch=batch(dtypes={"float64": 20_000_000}),
    transfers=PINNED,
)
SILENT = {
    "float32 that is needed": case(
        window(50, 0.1), loader=FAST, of=cuda(precision="32-true"), batch=batch(integral_floats=False), transfers=PINNED
    ),
    "uint8 already": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=batch(dtypes={"uint8": 20_000_000}), transfers=PINNED
    ),
    "copies cost nothing": case(
        window(50, 0.1),
        loader=FAST,
        of=cuda(),
        batch=batch(integral_floats=True),
        transfers=transfers(kind="pinned", copy_ms=0.5),
    ),
}
UNKNOWN = {
    "no batch seen": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=PINNED),
    "values not looked at": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=batch(integral_floats=None), transfers=PINNED
    ),
}
