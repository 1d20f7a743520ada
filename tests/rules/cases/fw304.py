"""Cases for FW304."""

from feedwatch.model.facts import CallbackTime
from tests.rules.build import case, keras_run, window

SLOW = (CallbackTime("PlotPredictions", 30.0), CallbackTime("ModelCheckpoint", 0.1))

FIRES = {
    "Lightning": case(window(50, 0.1, other_ms=31.0), callbacks=SLOW),
    "Keras": case(window(50, 0.1, other_ms=31.0), callbacks=SLOW, of=keras_run()),
}
SILENT = {
    "cheap callbacks": case(window(50, 0.1), callbacks=(CallbackTime("ModelCheckpoint", 0.1),)),
    "too few steps": case(window(50, 0.1, other_ms=31.0, steps=3), callbacks=SLOW),
}
UNKNOWN = {"not timed": case(window(50, 0.1, other_ms=31.0))}
