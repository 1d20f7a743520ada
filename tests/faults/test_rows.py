"""Every fault of `rows.py` in every framework: each in a process of its own, with a hard limit."""

import json
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from feedwatch.report.load import load_run
from tests.faults.benches import ALL
from tests.faults.rows import ROWS

ROOT = Path(__file__).parents[2]
CASES = [(name, framework) for framework in ALL for name, row in ROWS.items() if framework in row.frameworks]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.alone]


class Zygote:
    """Starts with the first row of its framework."""

    def __init__(self, framework: str) -> None:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("FEEDWATCH")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.zygote", framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=environment | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        )

    def play(self, name: str, where: Path) -> dict:
        print(name, where, file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line.removeprefix("ANSWER "))
        raise AssertionError("the process of this framework died")

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)


@pytest.fixture(scope="module")
def answers(request, tmp_path_factory):
    """Two frameworks play their rows at a time, on two cores; a test waits for its own row."""
    wanted = [
        item.callspec.params
        for item in request.session.items
        if item.path == Path(__file__) and hasattr(item, "callspec")
    ]
    future = {(each["name"], each["framework"]): Future() for each in wanted}
    places = {case: tmp_path_factory.mktemp("-".join(case)) / "run" for case in future}

    def play_all(framework: str) -> None:
        mine = {case: answer for case, answer in future.items() if case[1] == framework}
        try:
            zygote = Zygote(framework)
            for case, answer in mine.items():
                answer.set_result((zygote.play(case[0], places[case]), places[case]))
            zygote.close()
        except Exception as error:  # every test that still waits is told
            for answer in mine.values():
                if not answer.done():
                    answer.set_exception(error)

    with ThreadPoolExecutor(max_workers=2) as pool:
        playing = [pool.submit(play_all, framework) for framework in dict.fromkeys(case[1] for case in future)]
        yield lambda *case: future[case].result(600)
        for each in playing:
            each.result()


@pytest.mark.parametrize(("name", "framework"), CASES, ids=[f"{name}-{framework}" for name, framework in CASES])
def test_nothing_is_lost_and_nothing_changes(name, framework, answers):
    row = ROWS[name]
    found, where = answers(name, framework)
    if row.dies is not None:
        assert found == {"exit": row.dies}
        assert load_run(where).status.value in row.status
        return
    assert found.pop("exit", None) == 0
    wrong = {what: held for what, held in found.items() if held is not True}
    assert wrong == {}
    assert {"threads", "files", "error"} <= set(found)


def test_every_framework_has_its_rows():
    for framework in ALL:
        assert len([name for name, of in CASES if of == framework]) >= 30
