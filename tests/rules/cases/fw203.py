"""Cases for FW203."""

from tests.rules.build import batch, case, cuda, keras_run, loader, stage, tf_data, transfers, window

FAST = loader(load_ms=20.0, num_workers=4, pin_memory=True)
SLOW = loader(load_ms=200.0, num_workers=4, pin_memory=True)
ALONE = loader(load_ms=45.0, num_workers=0, pin_memory=True)

FIRES = {
    "in the stream that computes, by the device's own clock": case(
        window(50, 0.1, h2d_ms=10.0, starved_ms=0.1), loader=FAST, of=cuda(), batch=batch(pinned=True)
    ),
    "pinned and alone": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers(kind="pinned")),
    "TensorFlow": case(
        window(50, 0.1),
        tf=tf_data(stage("TFRecord", 1.0), stage("Prefetch", 0.1)),
        of=keras_run(device_kind="cuda"),
        transfers=transfers(kind="pinned"),
    ),
    "a host that is ahead finds no batch ready, and the device always does": case(
        window(50, 0.1, h2d_ms=10.0, starved_ms=0.1),
        loader=loader(load_ms=20.0, num_workers=4, pin_memory=True, ready_share=0.2),
        of=cuda(),
        batch=batch(pinned=True),
    ),
    "six percent of the step, told without a promise": case(
        window(50, 0.1, h2d_ms=3.2, starved_ms=0.1), loader=FAST, of=cuda(), batch=batch(pinned=True)
    ),
}
SILENT = {
    "the training thread loads, and takes longer than the device": case(
        window(50, 20, h2d_ms=10.0, starved_ms=20), loader=ALONE, of=cuda(), batch=batch(pinned=True)
    ),
    "workers of which the model knows nothing, and a device that runs dry": case(
        window(50, 5, h2d_ms=10.0, starved_ms=5),
        loader=loader(load_ms=600.0, num_workers=4, pin_memory=True),
        of=cuda(),
        batch=batch(pinned=True),
    ),
    "batches come no faster": case(
        window(50, 20, h2d_ms=10.0, starved_ms=20), loader=SLOW, of=cuda(), batch=batch(pinned=True)
    ),
    "most of it is hidden": case(
        window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers(kind="pinned", copy_ms=20.0, hidden_ms=14.0)
    ),
    "JAX sends ahead itself": case(
        window(50, 0.1),
        tf=tf_data(stage("TFRecord", 1.0), stage("Prefetch", 0.1)),
        of=keras_run(device_kind="cuda", backend="jax"),
        transfers=transfers(kind="pinned"),
    ),
    "pageable": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers(), batch=batch()),
}
UNKNOWN = {
    "host time of the copy only": case(window(50, 0.1, h2d_ms=10.0), loader=FAST, of=cuda(), batch=batch(pinned=True)),
}
