"""Cases for FW303."""

from tests.rules.build import case, keras_run, window

FIRES = {"a trace per shape": case(window(50, 0.1, compute_median_ms=20.0), of=keras_run(retraces=12))}
SILENT = {
    "one late trace": case(window(50, 0.1, compute_median_ms=20.0), of=keras_run(retraces=1)),
    "it costs nothing": case(window(50, 0.1), of=keras_run(retraces=12)),
}
UNKNOWN = {"not counted": case(window(50, 0.1, compute_median_ms=20.0), of=keras_run(retraces=None))}
