"""Cases for FW403."""

from tests.rules.build import case, keras_run, window

FIRES = {
    "five steady steps": case(window(50, 0.1, steps=5)),
    "Keras": case(window(50, 0.1, steps=5), of=keras_run()),
}
SILENT = {
    "enough": case(window(50, 0.1, steps=8)),
    "a run of one step": case(None),
}
UNKNOWN = {"nothing measured": case(None)}
