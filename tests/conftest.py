"""Every test runs strict: what production swallows and counts is re-raised here, so no error of ours can hide."""

import os
import signal

import hypothesis
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

# A shell that starts the tests in the background tells them to ignore Ctrl-C, and every process they start inherits it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is, and nothing about the example.
hypothesis.settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy machine")

pytest_plugins = ["tests.emulated.plugin"]  # the fixture `emulated`


@pytest.fixture(autouse=True)
def _strict(monkeypatch, request):
    """`@pytest.mark.lenient` is for tests of the swallowing itself."""
    if "lenient" in request.keywords:
        monkeypatch.delenv("FEEDWATCH_STRICT", raising=False)
    else:
        monkeypatch.setenv("FEEDWATCH_STRICT", "1")
    monkeypatch.delenv("FEEDWATCH", raising=False)


# Real frameworks and browsers, and tests that measure time, on a machine that others share: what fails and then passes
# met a busy machine. The summary names each of them. Faults get one attempt: a monitor that ends training once has
# ended it.
MORE_ATTEMPTS = ("contract", "tab", "examples")
ATTEMPTS = 3


def _may_meet_a_busy_machine(item):
    room = item.path.as_posix().rpartition("/tests/")[2].partition("/")[0]
    measures = room != "faults" and ("alone" in item.keywords or "emulated" in item.keywords)
    return room in MORE_ATTEMPTS or measures


def pytest_collection_modifyitems(items):
    # Two processes that share the tests out must call each of them by the same name.
    assert [item.nodeid for item in items if " at 0x" in item.nodeid.lower()] == []
    for item in items:
        if _may_meet_a_busy_machine(item):
            item.add_marker(pytest.mark.flaky(reruns=ATTEMPTS - 1, reruns_delay=1))


def pytest_runtest_setup(item):
    """Another attempt measures again: what the module remembers of the one before is forgotten."""
    if getattr(item, "execution_count", 1) > 1:
        for remembered in vars(item.module).values():
            if hasattr(remembered, "cache_clear"):
                remembered.cache_clear()


def pytest_terminal_summary(terminalreporter):
    again = terminalreporter.stats.get("rerun", [])
    terminalreporter.write_line(f"{len(again)} attempt(s) failed and were made again")
    for report in again:
        terminalreporter.write_line(f"  {report.nodeid}: {_reason(report)}")


def _reason(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(report.longrepr if crash is None else crash.message).strip().partition("\n")[0]
