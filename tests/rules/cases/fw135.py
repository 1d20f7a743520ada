"""Cases for FW135."""

from feedwatch.model.stream import StreamFacts
from tests.rules.build import case, keras_host, keras_run, window

GRAIN = StreamFacts("grain", workers=0)
JAX = keras_run(backend="jax")
BUSY = keras_host(process_cpus=1.0)

FIRES = {
    "grain works on the training thread": case(window(100, 60), kind="grain", stream=GRAIN, of=JAX, host_facts=BUSY),
}
SILENT = {
    "it has processes": case(
        window(100, 60), kind="grain", stream=StreamFacts("grain", workers=4), of=JAX, host_facts=BUSY
    ),
    "healthy": case(window(100, 0.5), kind="grain", stream=GRAIN, of=JAX, host_facts=BUSY),
    "another library": case(window(100, 60), stream=StreamFacts("litdata", workers=0), of=JAX, host_facts=BUSY),
}
UNKNOWN = {
    "nobody knows what reads": case(window(100, 60), kind="grain", of=JAX, host_facts=BUSY),
    "no CPU budget": case(window(100, 60), kind="grain", stream=GRAIN, of=JAX, host_facts=keras_host(cpu_budget=None)),
}
