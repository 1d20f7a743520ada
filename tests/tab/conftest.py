import logging
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import reports
from .browser import ARGUMENTS, CHROMIUM, Tab
from .event_files import write_report
from .tensorboards import READERS, served, wsgi

NINE_RUNS = 9


@pytest.fixture(scope="session", autouse=True)
def _quiet_server() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def team_logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log directory of a small team: input-bound, better, healthy, tf.data, failed, and four ranks."""
    logdir = tmp_path_factory.mktemp("team")
    runs = {
        "resnet50/workers2": reports.workers2(),
        "resnet50/workers6": reports.workers6(),
        "resnet50/workers8+pin": reports.healthy(),
        "keras/flowers": reports.tf_data(),
        "keras/oops": reports.failed(),
        **{f"ddp/rank{number}": reports.rank(number) for number in range(4)},
    }
    for name, report in runs.items():
        write_report(logdir / name, report)
    return logdir


@pytest.fixture(scope="session")
def team_url(team_logdir: Path) -> Iterator[str]:
    with served(wsgi(team_logdir)) as url:
        yield url


@pytest.fixture(scope="session")
def real_logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of each framework, made now: in processes of their own, both at once."""
    logdir = tmp_path_factory.mktemp("real")
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.tab.real_runs", name, str(logdir / name)], stderr=subprocess.PIPE
        )
        for name in ("lightning", "keras")
    ]
    for process in started:
        _, said = process.communicate(timeout=240)
        assert process.returncode == 0, said.decode()[-2000:]
    return logdir


@pytest.fixture(scope="session")
def real_url(real_logdir: Path) -> Iterator[str]:
    with served(wsgi(real_logdir)) as url:
        yield url


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    if not shutil.which(CHROMIUM):
        pytest.skip(f"no browser at {CHROMIUM}: the tab is not tested in a browser here")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    """A fresh profile per test: no storage, no clipboard of an earlier one."""
    opened = Tab(chromium)
    yield opened
    opened.close()
    assert opened.problems == []
