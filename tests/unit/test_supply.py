"""What is shipped and what it is tested with: the same build gives the same bytes, and no version is left to chance."""

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from feedwatch import __version__

pytest.importorskip("tomllib")  # Python 3.11

ROOT = Path(__file__).parents[2]
SHIPPED = ("src", "docs", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml")


def built(where: Path, mtime: int, umask: int) -> dict[str, str]:
    """A copy of another age, built by a process with another umask and locale."""
    source = where / "source"
    source.mkdir(parents=True)
    for name in SHIPPED:
        whole = (ROOT / name).is_dir()
        (shutil.copytree if whole else shutil.copy)(ROOT / name, source / name)
    for file in source.rglob("*"):
        os.utime(file, (mtime, mtime))
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(where / "out")],
        cwd=source,
        env={key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"} | {"TZ": f"UTC{mtime % 9}"},
        umask=umask,
        capture_output=True,
        check=True,
        timeout=120,
    )
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (where / "out").iterdir()}


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    where = tmp_path_factory.mktemp("builds")
    return where, built(where / "a", 1_600_000_000, 0o022), built(where / "b", 1_700_000_005, 0o077)


def test_a_wheel_and_an_sdist_are_built_twice_and_are_the_same(builds):
    _, first, second = builds
    assert sorted(Path(name).suffix for name in first) == [".gz", ".whl"]
    assert first == second


def test_they_hold_the_package_and_nothing_of_the_workplace(builds):
    out = builds[0] / "a" / "out"
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert all(name.startswith(("feedwatch/", "feedwatch-")) for name in names)
    assert {"feedwatch/py.typed", "feedwatch/tab/static/index.js"} <= set(names)
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert tops == {*SHIPPED, "PKG-INFO", ".gitignore"} - ({".gitignore"} - tops)


def test_the_metadata_says_who_what_and_for_which_python(builds):
    (wheel,) = (builds[0] / "a" / "out").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("METADATA"))
        said = archive.read(name).decode().partition("\n\n")[0]
    for field in (
        "Author:",
        "License-Expression: Apache-2.0",
        "Requires-Python: >=3.10",
        "Keywords:",
        "Classifier: Typing",
        f"Version: {__version__}",
        "Project-URL: Repository, https://",
        "Project-URL: Documentation, https://",
    ):
        assert field in said


# -- releasing -----------------------------------------------------------------------------------

release = runpy.run_path(str(ROOT / "tools" / "check_release.py"))


def test_the_changelog_has_a_chapter_for_this_version():
    assert release["problems"](f"v{__version__}") == []


def test_a_tag_of_another_version_is_refused():
    assert release["problems"]("v0.0.9") == [f"the tag is v0.0.9, the package says {__version__}"]


def test_every_workflow_can_be_read_and_runs_files_that_are_there():
    yaml = pytest.importorskip("yaml")
    flows = {file.stem: yaml.safe_load(file.read_text()) for file in (ROOT / ".github" / "workflows").glob("*.yml")}
    assert set(flows) == {"test", "docs", "release"}
    steps = [step for flow in flows.values() for job in flow["jobs"].values() for step in job["steps"]]
    commands = " ".join(step.get("run", "") for step in steps)
    named = set(re.findall(r"(?:tools|tests)/[\w/.]+", commands))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"\bmake ([\w-]+)", commands)) <= set(targets)


def test_only_the_job_that_publishes_may_ask_for_a_token():
    yaml = pytest.importorskip("yaml")
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    assert flow["permissions"] == {"contents": "read"}
    asks = [name for name, job in flow["jobs"].items() if "id-token" in job.get("permissions", {})]
    assert asks == ["publish"]
    assert flow["jobs"]["publish"]["environment"] == "release"


def test_issue_templates_ask_for_the_files_that_help():
    yaml = pytest.importorskip("yaml")
    forms = {
        file.stem: yaml.safe_load(file.read_text()) for file in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")
    }
    asked = {name: {part["id"] for part in form["body"] if "id" in part} for name, form in forms.items()}
    assert "report" in asked["advice_was_wrong"]
    assert "file" in asked["selftest"]
    assert "doctor" in asked["bug"]


def test_readme_has_a_quick_start_for_every_extra_that_the_wheel_test_installs():
    wheel_test = runpy.run_path(str(ROOT / "tools" / "wheel_test.py"))
    assert len(wheel_test["BEFORE"]) == 4
    for extra, before in wheel_test["BEFORE"].items():
        code = wheel_test["quick_start"](extra)
        assert "FeedWatch(" in code
        compile(before + code, extra, "exec")


@pytest.mark.parametrize(("command", "code", "shown"), [("exit 0", 0, ""), ("exit 3", 3, "a\nb\n")])
def test_what_pip_prints_is_shown_when_it_fails(command, code, shown):
    words = [sys.executable, str(ROOT / "tools" / "quiet.py"), "sh", "-c", f"echo a; echo b >&2; {command}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", shown)


# -- the matrix ----------------------------------------------------------------------------------

matrix = runpy.run_path(str(ROOT / "tools" / "matrix.py"))
RAN = json.loads((ROOT / "tools" / "matrix.json").read_text())


def test_the_table_of_versions_is_what_was_run():
    assert (ROOT / "docs" / "matrix.md").read_text() == matrix["page"](RAN)


@pytest.mark.parametrize("package", ["keras", "tensorflow", "lightning", "transformers", "tensorboard"])
def test_the_oldest_version_that_is_allowed_has_a_cell(package):
    (oldest,) = set(re.findall(rf'"{package}>=([\d.]+)"', (ROOT / "pyproject.toml").read_text()))
    pins = [pin for cell in matrix["CELLS"] for pin in cell.installs if pin.startswith(f"{package}==")]
    assert any(pin.startswith(f"{package}=={oldest}") for pin in pins)


def test_an_outcome_counts_what_failed_and_what_did_not_run(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import pytest\ndef test_fine(): pass\ndef test_bad(): assert 0\n@pytest.mark.skip\ndef test_left_out(): pass\n"
    )
    told = [
        matrix["outcome"](sys.executable, (str(tmp_path), "-k", which), str(tmp_path)) for which in ("fine", "left", "")
    ]
    assert told == ["1 passed", "nothing ran", "**1 of 2 failed**: test_bad"]


# -- versions ------------------------------------------------------------------------------------


pins = runpy.run_path(str(ROOT / "tools" / "pins.py"))
PINNED = pins["pinned"]((ROOT / "constraints.txt").read_text())


def test_every_version_is_pinned_also_of_what_others_need():
    """`python tools/pins.py` writes them."""
    assert {name for name in pins["needed"]() if name not in PINNED} == set()


def test_every_version_that_is_pinned_has_a_hash_and_nothing_else_has():
    """`make locked` installs from that file alone, with `--require-hashes`."""
    text = (ROOT / "hashes.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==\S+ --hash=sha256:[0-9a-f]{64}", line)] == []
    assert pins["pinned"](text) == PINNED
    assert len(lines) == len(PINNED)


def test_pip_refuses_a_file_whose_hash_differs(tmp_path):
    """The lines are what pip's own hash mode reads: a file that was changed on its way is not installed."""
    name = f"feedwatch_planted-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / name, "w") as wheel:
        info = f"feedwatch_planted-{__version__}.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: feedwatch-planted\nVersion: {__version__}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    right = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()

    def installed(digest):
        (tmp_path / "hashes.txt").write_text(f"feedwatch-planted=={__version__} --hash=sha256:{digest}\n")
        words = ["install", "--dry-run", "--require-hashes", "--no-deps", "--no-index", "--find-links", tmp_path]
        whole = [sys.executable, "-m", "pip", *words, "--requirement", tmp_path / "hashes.txt"]
        return subprocess.run(whole, capture_output=True, text=True, check=False, timeout=120)

    assert installed(right).returncode == 0
    assert "DO NOT MATCH" in installed("0" * 64).stderr.upper()


def test_the_tests_run_with_the_versions_that_are_pinned():
    assert {name: version for name, version in pins["needed"]().items() if PINNED.get(name) != version} == {}
