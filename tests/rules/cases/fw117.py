"""Cases for FW117."""

from tests.rules.build import EpochBoundaries, case, keras_run, loader, window

SLOW = EpochBoundaries(count=10, median_ms=3000.0, share=0.5, loader_start_ms=2500.0, first_fetch_ms=500.0)
QUICK = EpochBoundaries(count=10, median_ms=60.0, share=0.02, loader_start_ms=40.0, first_fetch_ms=20.0)
SPAWNED = {"start_method": "spawn", "persistent_workers": False, "load_ms": 20.0}

FIRES = {
    "spawned in every epoch": case(window(100, 1), loader=loader(**SPAWNED), boundaries=SLOW),
    "from a server": case(window(100, 1), loader=loader(**{**SPAWNED, "start_method": "forkserver"}), boundaries=SLOW),
}
SILENT = {
    "forked": case(window(100, 1), loader=loader(**{**SPAWNED, "start_method": "fork"}), boundaries=SLOW),
    "they are kept": case(window(100, 1), loader=loader(**{**SPAWNED, "persistent_workers": True}), boundaries=SLOW),
    "they start quickly": case(window(100, 1), loader=loader(**SPAWNED), boundaries=QUICK),
    "the data set uses the device": case(
        window(100, 1), loader=loader(**SPAWNED, device_tensors=True), boundaries=SLOW
    ),
    "JAX has threads": case(window(100, 1), of=keras_run(backend="jax"), loader=loader(**SPAWNED), boundaries=SLOW),
    "no workers": case(window(100, 1), loader=loader(**SPAWNED, num_workers=0), boundaries=SLOW),
}
UNKNOWN = {
    "how they start is unknown": case(
        window(100, 1), loader=loader(**{**SPAWNED, "start_method": None}), boundaries=SLOW
    ),
    "start not measured": case(
        window(100, 1), loader=loader(**SPAWNED), boundaries=EpochBoundaries(count=10, median_ms=3000.0, share=0.5)
    ),
    "one epoch": case(window(100, 1), loader=loader(**SPAWNED), boundaries=EpochBoundaries()),
}
