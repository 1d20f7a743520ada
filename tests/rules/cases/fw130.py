"""Cases for FW130."""

from tests.rules.build import PyDatasetFacts, case, keras_host, keras_run, window


def data(workers=1, **changes):
    return PyDatasetFacts(
        **{"class_name": "Photos", "workers": workers, "use_multiprocessing": False, "max_queue_size": 10, **changes}
    )


FIRES = {
    "one worker that computes": case(window(80, 60), pydataset=data(item_ms=78.0)),
    "one worker that waits": case(window(80, 60), pydataset=data(item_ms=78.0), host_facts=keras_host(cpu_used=0.3)),
    "item time from the pipeline": case(window(80, 60), pydataset=data(), load_ms=75.0),
    "torch backend": case(window(80, 60), pydataset=data(), of=keras_run(backend="torch")),
}
SILENT = {
    "healthy": case(window(80, 0.1), pydataset=data(item_ms=70.0)),
    "it has workers": case(window(80, 60), pydataset=data(workers=4, item_ms=78.0)),
}
UNKNOWN = {
    "no CPU budget": case(window(80, 60), pydataset=data(item_ms=78.0), host_facts=keras_host(cpu_budget=None)),
    "no steps": case(None, pydataset=data(item_ms=78.0)),
}
