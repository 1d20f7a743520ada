"""Cases for FW119."""

from feedwatch.model.stream import StreamFacts
from tests.rules.build import case, host, keras_run, window

BUSY = host(cpu_used=0.9, process_cpus=0.9, training_cpus=0.9)

FIRES = {
    "an iterator of the user's own": case(window(100, 60), kind="iterable", opaque="Batches", host_facts=BUSY),
    "nobody knows what it is": case(window(100, 60), host_facts=BUSY),
}
SILENT = {
    "a library that loads by itself": case(
        window(100, 60), kind="iterable", opaque="Ray Data", stream=StreamFacts("ray"), host_facts=BUSY
    ),
    "healthy": case(window(100, 1), kind="iterable", opaque="Batches", host_facts=BUSY),
    "Keras has a rule for generators": case(window(100, 60), kind="generator", of=keras_run(), host_facts=BUSY),
}
UNKNOWN = {
    "no CPU budget": case(window(100, 60), kind="iterable", opaque="Batches", host_facts=host(cpu_budget=None)),
    "no steps": case(None, kind="iterable", opaque="Batches", host_facts=BUSY),
}
