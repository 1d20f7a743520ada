"""Cases for FW131."""

from tests.rules.build import case, keras_host, keras_run, window

FIRES = {
    "a generator that cannot keep up": case(window(80, 60), kind="generator", load_ms=78.0, of=keras_run()),
    "load not measured, so the step is the load": case(window(80, 60), kind="generator", of=keras_run()),
}
SILENT = {
    "healthy": case(window(80, 0.1), kind="generator", load_ms=20.0, of=keras_run()),
    "arrays": case(window(80, 60), kind="arrays", of=keras_run()),
}
UNKNOWN = {
    "no CPU budget": case(window(80, 60), kind="generator", of=keras_run(), host_facts=keras_host(cpu_budget=None)),
    "kind unknown": case(window(80, 60), of=keras_run()),
}
