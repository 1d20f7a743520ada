"""Cases for FW302."""

from tests.rules.build import case, keras_run, window

FIRES = {"run_eagerly": case(window(50, 0.1), kind="arrays", of=keras_run(run_eagerly=True))}
SILENT = {
    "compiled": case(window(50, 0.1), kind="arrays", of=keras_run(run_eagerly=False)),
    "the step mostly waits": case(window(50, 40.0), kind="arrays", of=keras_run(run_eagerly=True)),
    "torch has no other mode": case(window(50, 0.1), kind="arrays", of=keras_run(run_eagerly=True, backend="torch")),
    "too few steps": case(window(50, 0.1, steps=4), kind="arrays", of=keras_run(run_eagerly=True)),
}
UNKNOWN = {"not known": case(window(50, 0.1), kind="arrays", of=keras_run(run_eagerly=None))}
