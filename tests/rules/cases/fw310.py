"""Cases for FW310."""

from tests.rules.build import case, host, keras_run, window

BUSY = host(gc_share=0.2)

FIRES = {
    "a fifth of the time": case(window(50, 0.1), host_facts=BUSY),
    "Keras": case(window(50, 0.1), host_facts=BUSY, of=keras_run()),
}
SILENT = {
    "as usual": case(window(50, 0.1), host_facts=host(gc_share=0.004)),
    "too little to gain": case(window(50, 0.1), host_facts=host(gc_share=0.051)),
    "too few steps": case(window(50, 0.1, steps=4), host_facts=BUSY),
}
UNKNOWN = {"not measured": case(window(50, 0.1), host_facts=host(gc_share=None))}
