"""Cases for FW309."""

from tests.rules.build import QUICK_EPOCHS, case, keras_run, torch_run, window

TINY = window(1.1, 0.05, other_ms=0.2, steps=2000)
COMPILED = {"run_eagerly": False}

FIRES = {
    "fetching is a part of the call": case(
        window(1.3, 0.2, other_ms=0.2, steps=2000), kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(**COMPILED)
    ),
    "TensorFlow": case(TINY, kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(**COMPILED)),
    "JAX": case(
        window(0.5, 0.02, other_ms=0.05, steps=4000),
        kind="arrays",
        boundaries=QUICK_EPOCHS,
        of=keras_run(backend="jax", **COMPILED),
    ),
    "the loop itself is what takes the time": case(
        window(2.5, 0.05, other_ms=1.4, steps=2000), kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(**COMPILED)
    ),
}
SILENT = {
    "several steps per call already": case(
        TINY, kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(steps_per_execution=10, **COMPILED)
    ),
    "a large model": case(
        window(20.0, 0.05, other_ms=0.2), kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(**COMPILED)
    ),
    "eager": case(TINY, kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(run_eagerly=True)),
    "it waits for input": case(
        window(2.0, 1.0, other_ms=0.2), kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(**COMPILED)
    ),
    "torch has no such call": case(
        TINY, kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(backend="torch", **COMPILED)
    ),
    "no Keras": case(TINY, kind="arrays", boundaries=QUICK_EPOCHS, of=torch_run(**COMPILED)),
    "epochs of a few batches": case(
        window(1.1, 0.05, other_ms=0.2, steps=40), kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(**COMPILED)
    ),
    "a JAX step that computes": case(
        window(3.0, 0.02, other_ms=0.05, steps=4000),
        kind="arrays",
        boundaries=QUICK_EPOCHS,
        of=keras_run(backend="jax", **COMPILED),
    ),
}
UNKNOWN = {
    "nobody knows whether it is compiled": case(
        TINY, kind="arrays", boundaries=QUICK_EPOCHS, of=keras_run(run_eagerly=None)
    )
}
