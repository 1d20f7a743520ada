"""Cases for FW304."""

from feedwatch.model.facts import CallbackTime
from tests.rules.build import case, cuda, keras_run, window

SLOW = (CallbackTime("PlotPredictions", 30.0), CallbackTime("ModelCheckpoint", 0.1))
LOST = window(50, 0.1, other_ms=31.0)

FIRES = {
    "Lightning": case(LOST, callbacks=SLOW),
    "Keras": case(LOST, callbacks=SLOW, of=keras_run()),
    "a checkpoint at every step": case(LOST, callbacks=(CallbackTime("ModelCheckpoint", 30.0),)),
    "a checkpoint now and then": case(LOST, callbacks=(CallbackTime("ModelCheckpoint", 30.0, every=40.0),)),
    "a logger": case(LOST, callbacks=(CallbackTime("CSVLogger", 30.0),)),
    "Keras' TensorBoard": case(LOST, callbacks=(CallbackTime("TensorBoard", 30.0),), of=keras_run()),
    "the device idles meanwhile": case(window(50, 0.1, other_ms=31.0, starved_ms=0.1), callbacks=SLOW, of=cuda()),
}
SILENT = {
    "cheap callbacks": case(window(50, 0.1), callbacks=(CallbackTime("ModelCheckpoint", 0.1),)),
    "too few steps": case(window(50, 0.1, other_ms=31.0, steps=3), callbacks=SLOW),
    "it reads the loss while the device computes": case(
        window(50, 0.1, other_ms=1.0, starved_ms=0.1),
        callbacks=(CallbackTime("TQDMProgressBar", 40.0),),
        of=cuda(synchronises="the progress bar"),
    ),
}
UNKNOWN = {"not timed": case(LOST)}
