"""The table of backends, and who sees the fetches on each."""

import pytest

keras = pytest.importorskip("keras")

from feedwatch.hooks.destination import Destination  # noqa: E402
from feedwatch.hooks.keras import backends  # noqa: E402
from feedwatch.hooks.run import WatchedRun  # noqa: E402
from feedwatch.measure.marks import DONE, END  # noqa: E402
from feedwatch.measure.steps import Ends, StepReader  # noqa: E402
from feedwatch.model.report import Status  # noqa: E402
from feedwatch.settings import Settings  # noqa: E402
from tests.fakes.values import run_facts  # noqa: E402


@pytest.fixture
def run():
    made = WatchedRun(run_facts(framework="keras"), Settings(console=False), Destination(None, ()), StepReader())
    yield made
    made.close(Status.FINISHED)


def on(monkeypatch, backend):
    monkeypatch.setattr(keras.backend, "backend", lambda: backend)


def test_only_the_graph_is_stamped_and_only_its_host_waits_for_the_device():
    found = {name: (each.ends, each.stamped) for name, each in backends.BACKENDS.items()}
    assert found == {"tensorflow": (Ends.MARKED, True), "torch": (Ends.NEXT, False), "jax": (Ends.DONE, False)}


def test_an_end_hook_on_another_thread_tells_only_when_its_time_is_the_devices():
    found = {name: (each.end_mark, each.end_mark_elsewhere) for name, each in backends.BACKENDS.items()}
    assert found == {"tensorflow": (END, None), "torch": (END, None), "jax": (DONE, DONE)}


def test_on_tensorflow_the_graph_tells_and_waiting_rows_are_bounded(run):
    fetches = backends.fetches_of(run, run.session.steps, per_call=8)
    assert run.session.stamped_fetches == fetches.fetches
    assert run.marks.most == 2 * 4096 // 8
    assert any("at least what is shown" in note for note in run.session.facts.notes)
    fetches.close()


def test_under_op_determinism_the_wait_is_estimated_and_that_is_said(run, monkeypatch):
    monkeypatch.setattr(backends, "_deterministic_ops", lambda: True)
    with pytest.warns(UserWarning, match="op determinism"):
        fetches = backends.fetches_of(run, run.session.steps, per_call=1)
    assert run.session.stamped_fetches == fetches.fetches
    assert any("op determinism" in note for note in run.session.facts.notes)


def test_on_torch_and_jax_python_tells(run, monkeypatch):
    for backend in ("torch", "jax"):
        on(monkeypatch, backend)
        assert list(backends.fetches_of(run, run.session.steps, 1).wrap(iter([1, 2]))) == [1, 2]


def test_a_backend_that_we_do_not_know_is_not_measured_and_that_is_said(run, monkeypatch):
    on(monkeypatch, "abacus")
    assert backends.this_backend() is backends.UNKNOWN
    assert backends.fetches_of(run, run.session.steps, 1).wrap(iter([])) is None
    assert run.session.steps.measured is False
    assert any("'abacus'" in note for note in run.session.facts.notes)


def test_a_host_that_computes_by_itself_has_no_device_clock(monkeypatch):
    assert backends.torch_clock() is None
