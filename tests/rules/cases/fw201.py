"""Cases for FW201."""

from tests.rules.build import batch, case, cuda, keras_run, loader, stage, tf_data, torch_run, transfers, window

FAST = loader(load_ms=20.0, num_workers=4)
SLOW = loader(load_ms=200.0, num_workers=4)
PINNING = loader(load_ms=20.0, num_workers=4, pin_memory=True)
PREFETCHED = tf_data(stage("TFRecord", 1.0), stage("Prefetch", 0.1))

FIRES = {
    "pageable copies in a profile": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers()),
    "no pin_memory, copies on the device clock": case(
        window(50, 0.1, h2d_ms=10.0, starved_ms=0.1), loader=FAST, of=cuda()
    ),
    "six percent of the step": case(window(50, 0.1, h2d_ms=3.2, starved_ms=0.1), loader=FAST, of=cuda()),
    "nine percent of the step": case(window(50, 0.1, h2d_ms=4.6, starved_ms=0.1), loader=FAST, of=cuda()),
    "kinds that no profiler tells, and a batch that is not pinned": case(
        window(50, 0.1),
        loader=FAST,
        of=cuda(device_kind="rocm"),
        batch=batch(pinned=False),
        transfers=transfers(kind="unknown"),
    ),
    "a batch class that the loader cannot pin": case(
        window(50, 0.1, h2d_ms=10.0, starved_ms=0.1), loader=PINNING, of=cuda(), batch=batch(pinned=False)
    ),
    "the training thread loads and copies, and the device waits for both": case(
        window(50, 20, h2d_ms=10.0, starved_ms=20), loader=loader(load_ms=30.0, num_workers=0), of=cuda()
    ),
    "TensorFlow": case(window(50, 0.1), tf=PREFETCHED, of=keras_run(device_kind="cuda"), transfers=transfers()),
}
SILENT = {
    "batches come no faster": case(window(50, 20, h2d_ms=10.0, starved_ms=20), loader=SLOW, of=cuda()),
    "pinned": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers(kind="pinned")),
    "pin_memory is on": case(window(50, 0.1), loader=PINNING, of=cuda(), transfers=transfers()),
    "the batch itself is pinned": case(
        window(50, 0.1), loader=FAST, of=cuda(), batch=batch(pinned=True), transfers=transfers()
    ),
    "hidden": case(window(50, 0.1), loader=FAST, of=cuda(), transfers=transfers(hidden_ms=9.9)),
    "no device": case(window(50, 0.1), loader=FAST, of=torch_run(), transfers=transfers()),
    "JAX has no such setting": case(
        window(50, 0.1), tf=PREFETCHED, of=keras_run(device_kind="cuda", backend="jax"), transfers=transfers()
    ),
    "what TensorFlow makes of a DataLoader's batch is not pinned either": case(
        window(50, 0.1), loader=FAST, of=keras_run(device_kind="cuda"), transfers=transfers()
    ),
}
UNKNOWN = {
    "copies not measured": case(window(50, 0.1), loader=FAST, of=cuda()),
    "host time of the copy only": case(window(50, 0.1, h2d_ms=10.0), loader=FAST, of=cuda()),
    "neither kind nor loader known": case(
        window(50, 0.1), of=cuda(), transfers=transfers(kind="unknown"), kind="generator"
    ),
}
