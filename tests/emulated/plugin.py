"""The `emulated` fixture, and a process of its own for the tests that use it.

A process that has loaded the emulated device has an accelerator for good: DataLoaders pin, `torch.accelerator` answers.
And autograd counts devices at the first backward pass, so a process that has trained on the CPU can load it no more.
Where a session holds tests of other folders too, those of the emulated device therefore run in a second pytest, which
sends its reports here; alone (`pytest tests/emulated`) they run in this one, where a debugger can follow them.

They come last, so that this pytest does nothing but wait while the second one runs: its timings are not disturbed, and
its reports are read as they are sent. A second pytest that ran ahead filled the pipe, stood in a write until the time
limit of a test rang, and ended with an internal error.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import Any, Final

import pytest

from tests.emulated import Emulated, load

# The file descriptor for reports, in the environment of the second pytest.
REPORTS_TO: Final = "TESTS_EMULATED_REPORTS_TO"
_SHOWN_LINES: Final = 40
_HANGS_AFTER_S: Final = 330.0  # longer than the time limit of a test in pyproject.toml


@pytest.fixture
def emulated() -> Iterator[Emulated]:
    """The emulated device as new: nothing queued, default settings, no fault, an empty log."""
    import torch

    device = load_or_skip()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # its arithmetic shall not wait for the CPU's thread pool
    device.reset()
    yield device
    device.reset()
    torch.set_num_threads(threads)


def load_or_skip() -> Emulated:
    from tests.emulated.build import CannotBuild

    try:
        return load()
    except CannotBuild as error:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(f"{error} (CI runs every test)", pytrace=False)
        pytest.skip(str(error))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "emulated: runs on the emulated device (set by the fixture)")
    if REPORTS_TO in os.environ:
        config.pluginmanager.register(_Sender(config, int(os.environ[REPORTS_TO])))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_emulated(item):
            item.add_marker(pytest.mark.emulated)
    items.sort(key=_is_emulated)  # a stable order: last, and among themselves as they were


def pytest_collection_finish(session: pytest.Session) -> None:
    ours = [item for item in session.items if _is_emulated(item)]
    if ours and not session.config.option.collectonly:
        _build_outside_the_time_limits()
    alone = all(_is_emulated(item) or item.path.parent == Path(__file__).parent for item in session.items)
    if ours and not alone and REPORTS_TO not in os.environ:
        session.config.pluginmanager.register(_SecondPytest(session.config, ours))


def _build_outside_the_time_limits() -> None:
    """It takes a minute or, on a busy machine, several; what is wrong with it the fixture says."""
    from tests.emulated.build import ensure_built

    with suppress(RuntimeError):
        ensure_built()


def _is_emulated(item: pytest.Item) -> bool:
    return "emulated" in getattr(item, "fixturenames", ())


class _Sender:
    """In the second pytest: one line per report, one when a test is through."""

    def __init__(self, config: pytest.Config, descriptor: int) -> None:
        self._config = config
        self._file = os.fdopen(descriptor, "w")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._send({"report": self._config.hook.pytest_report_to_serializable(config=self._config, report=report)})

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._send({"finished": nodeid})

    def _send(self, message: dict[str, Any]) -> None:
        self._file.write(json.dumps(message) + "\n")
        self._file.flush()


class _SecondPytest:
    """In the first one: starts the second at its first test and passes its reports on, test by test."""

    def __init__(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        self._config = config
        self._ids = [item.nodeid for item in items]
        self._output = TemporaryFile("w+")  # noqa: SIM115 - closed when the session ends
        self._process: subprocess.Popen[str] | None = None
        self._messages: Iterator[str] = iter(())
        self._reports: dict[str, list[pytest.TestReport]] = {}
        self._finished: set[str] = set()
        self._deaths: list[str] = []
        for item in items:
            item.add_marker(pytest.mark.timeout(0))  # the second pytest has the time limits, and a test to name

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not _is_emulated(item):
            return None
        if self._process is None:
            self._start()
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self._finish(item.nodeid)
        if item.nodeid not in self._finished:
            # The device is C++ in a process of its own. A death costs the test that was under way a second attempt,
            # which is counted and said, and no other test anything.
            self._deaths.append(f"{item.nodeid}: exit code {self._process.wait()}\n{self._said()}")
            self._reports.pop(item.nodeid, None)
            self._start()
            self._finish(item.nodeid)
        for report in self._reports.pop(item.nodeid, []):
            item.ihook.pytest_runtest_logreport(report=report)
        if item.nodeid not in self._finished:
            item.ihook.pytest_runtest_logreport(report=self._died(item))
            self._finished.add(item.nodeid)
            if self._left():
                self._start()
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        # The test before this one kept up what it shares with this one; the next one may share less.
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def _finish(self, nodeid: str) -> None:
        with self._time_limit():
            self._read_until_finished(nodeid)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for death in self._deaths:
            terminalreporter.write_line(f"the pytest of the emulated device died and was started again at {death}")

    def pytest_sessionfinish(self) -> None:
        if self._process is not None:
            self._process.kill()  # it is through, or this session was stopped early
            self._process.wait()
        self._output.close()

    def _start(self) -> None:
        read, write = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *self._left()],
            cwd=self._config.rootpath,
            env={**os.environ, REPORTS_TO: str(write), "PYTHONPATH": _with_repository()},
            pass_fds=[write],
            stdout=self._output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        os.close(write)
        self._messages = iter(os.fdopen(read))

    def _left(self) -> list[str]:
        return [each for each in self._ids if each not in self._finished]

    @contextmanager
    def _time_limit(self) -> Iterator[None]:
        """A process that hangs inside the interpreter's lock cannot even time out by itself."""
        assert self._process is not None
        timer = Timer(_HANGS_AFTER_S, self._process.kill)
        timer.start()
        yield
        timer.cancel()

    def _read_until_finished(self, wanted: str) -> None:
        while wanted not in self._finished:
            line = next(self._messages, None)
            if line is None:
                return
            message = json.loads(line)
            if "finished" in message:
                self._finished.add(message["finished"])
            else:
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=message["report"])
                self._reports.setdefault(report.nodeid, []).append(report)

    def _died(self, item: pytest.Item) -> pytest.TestReport:
        assert self._process is not None
        code = self._process.wait()
        text = f"the pytest of the emulated device ended with {code} before this test's end:\n{self._said()}"
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")

    def _said(self) -> str:
        self._output.seek(0)
        return "\n".join(self._output.read().splitlines()[-_SHOWN_LINES:])


def _with_repository() -> str:
    """The second pytest finds this plugin as `tests.emulated.plugin`, wherever it is started."""
    repository = str(Path(__file__).parents[2])
    return os.pathsep.join([repository, *filter(None, [os.environ.get("PYTHONPATH")])])
