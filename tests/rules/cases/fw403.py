"""Cases for FW403."""

from tests.rules.build import case, keras_run, torch_run, window

FIRES = {
    "five steady steps": case(window(50, 0.1, steps=5)),
    "Keras": case(window(50, 0.1, steps=5), of=keras_run()),
    "a loop of one's own": case(window(50, 0.1, steps=5), of=torch_run(framework="torch")),
}
SILENT = {
    "enough": case(window(50, 0.1, steps=8)),
    "a run of one step": case(None),
}
UNKNOWN = {"nothing measured": case(None)}
