"""Cases for FW308."""

from feedwatch.model.steps import Counts
from tests.rules.build import Startup, case, keras_run, window

SHORT = Counts(measured=100, warmup=3, batches=103, wall_s=30.0)

FIRES = {
    "compiled for half a minute": case(
        window(50, 0.1, steps=100), startup=Startup(first_step_ms=20_000.0), counts=SHORT
    ),
    "tracing was timed": case(
        window(50, 0.1, steps=100), startup=Startup(21_000.0, 18_000.0), counts=SHORT, of=keras_run()
    ),
    "XLA compiled for longer than tracing took": case(
        window(50, 0.1, steps=100), startup=Startup(20_000.0, 2_000.0), counts=SHORT, of=keras_run()
    ),
    "JAX": case(window(50, 0.1, steps=100), startup=Startup(20_000.0), counts=SHORT, of=keras_run(backend="jax")),
}
SILENT = {
    "a usual start": case(window(50, 0.1), startup=Startup(first_step_ms=1500.0)),
    "a longer run": case(
        window(50, 0.1), startup=Startup(20_000.0), counts=Counts(measured=9000, warmup=3, wall_s=3600.0)
    ),
    "a smoke test": case(window(50, 0.1, steps=2), startup=Startup(20_000.0), counts=Counts(measured=2, wall_s=21.0)),
}
UNKNOWN = {"start not measured": case(window(50, 0.1, steps=100), startup=Startup(), counts=SHORT)}
