"""What the pages for contributors name is there: files, links, headings, names in modules. What they show as code runs."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "feedwatch"
PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "how-it-works.md",
    *sorted((ROOT / "docs" / "internals").glob("*.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
]
IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
# `hooks/run.py`, `docs/rules/`, and with a name inside the module: `hooks/run.py:WatchedRun`.
NAMED = re.compile(r"(?:[\w.-]+/)*[\w.-]+(?:\.(?:py|md|js|toml|txt|gz)|/)(?::\w+(?:\.\w+)?)?")
DOTTED = re.compile(r"feedwatch(?:\.\w+)+")
# Addresses of the project, from the only place where they are chosen.
URLS = dict(re.findall(r'^(\w+) = "(https://.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE))


def prose(page):
    """Without the blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def named(text):
    """The paths in a text's code spans. NNN stands for a number that the reader chooses."""
    tokens = [token.strip(",;()") for span in SPAN.findall(text) for token in span.split()]
    return [token for token in tokens if NAMED.fullmatch(token) and "NNN" not in token]


def in_an_installed_package(path):
    """`keras/src/callbacks/callback_list.py`: a file of a framework that we have read."""
    top, _, rest = path.partition("/")
    spec = importlib.util.find_spec(top) if rest and top.isidentifier() else None
    return next(
        (found for place in (spec and spec.submodule_search_locations) or () if (found := Path(place) / rest).exists()),
        None,
    )


def resolve(path, page):
    for place in (page.parent, ROOT, PACKAGE):
        if (place / path).exists():
            return place / path
    return in_an_installed_package(path)


def defined(module):
    """Every name that a module gives: functions, classes, their methods and attributes, constants."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            names.add(getattr(node, "id", getattr(node, "attr", None)))
    return names


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_module_or_name_in_one(parts):
    """feedwatch.torch, feedwatch.hooks.run, feedwatch.torch.FeedWatch."""
    place = PACKAGE
    for at, part in enumerate(parts):
        place /= part
        if not place.is_dir():
            return place.with_suffix(".py").exists() and len(parts) <= at + 2
    return True


def problems(text, page):
    """What a text names and nobody can find."""
    wrong = []
    for token in named(text):
        path, _, name = token.partition(":")
        found = resolve(path, page)
        if found is None:
            wrong.append(f"no file {path}")
        elif name and not set(name.split(".")) <= defined(found):
            wrong.append(f"no {name} in {path}")
    modules = sorted({dotted for span in SPAN.findall(text) for dotted in DOTTED.findall(span)})
    wrong += [f"no module {name}" for name in modules if not is_module_or_name_in_one(name.split(".")[1:])]
    return wrong + broken_links(text, page)


def broken_links(text, page):
    wrong = []
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        linked = ours(path) if "://" in path else page.parent / path if path else page
        if linked is None:
            continue  # somebody else's
        if not linked.exists():
            wrong.append(f"no page {target}")
        elif anchor and anchor not in anchors(linked):
            wrong.append(f"no heading {target}")
    return wrong


def ours(address):
    """The file behind an address of the project; None for other people's."""
    for start in (f"{URLS['Repository']}/blob/main/", f"{URLS['Repository']}/raw/main/"):
        if address.startswith(start):
            return ROOT / address.removeprefix(start)
    if address.startswith(URLS["Documentation"]):
        page = address.removeprefix(URLS["Documentation"]) or "index.html"
        return ROOT / "docs" / page.replace(".html", ".md")
    return None


def tree_problems(block):
    """A block that begins with `src/feedwatch/` lists folders and modules, two spaces deeper per level."""
    lines = block.rstrip().splitlines()
    if not lines or not lines[0].startswith("src/feedwatch/"):
        return []
    wrong, folders = [], [PACKAGE]
    for line in lines[1:]:
        depth = (len(line) - len(line.lstrip())) // 2
        listed = re.split(r"\s{2,}", line.strip())[0].split()
        if not 1 <= depth <= len(folders):
            continue  # a description that goes on
        del folders[depth:]
        here = folders[-1]
        wrong += [f"no {name} in {here.relative_to(ROOT)}" for name in listed if not (here / name).exists()]
        if listed[-1].endswith("/"):
            folders.append(folders[-1] / listed[-1])
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_what_a_page_names_is_there(page):
    blocks = [block for _, block in FENCE.findall(page.read_text(encoding="utf-8"))]
    assert problems(prose(page), page) + [wrong for block in blocks for wrong in tree_problems(block)] == []


FOR_USERS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "examples/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs" / "rules" / "README.md",
]


@pytest.mark.parametrize("page", FOR_USERS, ids=[page.relative_to(ROOT).as_posix() for page in FOR_USERS])
def test_the_links_of_a_page_for_users_lead_somewhere(page):
    assert broken_links(prose(page), page) == []


def test_readme_is_read_elsewhere_too_so_its_links_and_pictures_are_absolute():
    targets = LINK.findall(prose(ROOT / "README.md"))
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []


def test_the_project_has_one_address():
    """Whoever moves it changes all of these at once."""
    host, owner, name = URLS["Repository"].removeprefix("https://").split("/")
    assert URLS["Documentation"] == f"https://{owner}.{host.partition('.')[0]}.io/{name}/"
    assert all(url.startswith((URLS["Repository"], URLS["Documentation"])) for url in URLS.values())
    shown = [ROOT / "mkdocs.yml", ROOT / "README.md", *(ROOT / ".github").rglob("*.yml"), *(ROOT / "docs").glob("*.md")]
    found = {
        address
        for page in shown
        for address in re.findall(r"https://[\w./-]*feedwatch[\w./-]*", page.read_text(encoding="utf-8"))
    }
    assert len(found) > 10
    assert [each for each in sorted(found) if not each.startswith((URLS["Repository"], URLS["Documentation"]))] == []


PICTURES = sorted((ROOT / "docs" / "images").glob("*.png"))


def test_every_picture_is_shown_somewhere_and_taken_by_the_tool():
    """Whoever adds one by hand shows something that no run has said."""
    shown = "".join(page.read_text(encoding="utf-8") for page in FOR_USERS)
    used = {Path(name).stem for name in re.findall(r"images/([\w-]+\.png)", shown)}
    taken = set(re.findall(r'camera\.take\(\s*"([\w-]+)"', (ROOT / "tools" / "take_pictures.py").read_text()))
    assert {picture.stem for picture in PICTURES} == used == taken


@pytest.mark.parametrize("picture", PICTURES, ids=[picture.stem for picture in PICTURES])
def test_a_picture_says_in_itself_which_run_it_shows(picture):
    image = pytest.importorskip("PIL.Image")
    with image.open(picture) as opened:
        said = opened.text.get("Source", "")
    assert re.match(r"a real run, feedwatch [\d.]+, \d{4}-\d\d-\d\d, .+, GPU: ", said)


def test_no_page_stands_twice_in_the_navigation():
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) > 25
    assert len(listed) == len(set(listed))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Strict: a link that leads nowhere is an error."""
    pytest.importorskip("mkdocs")
    where = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(where)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return where


def test_the_site_is_built_and_asks_nobody_else(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    loaded = r'<(?:script|img|link rel="(?:stylesheet|preconnect|preload)")[^>]*(?:src|href)="(https?:[^"]*)"'
    assert {address for page in pages for address in re.findall(loaded, page.read_text(encoding="utf-8"))} == set()
    assert "FW101" in (site / "search" / "search_index.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            f"see [this]({URLS['Repository']}/blob/main/docs/nobody.md)",
            f"no page {URLS['Repository']}/blob/main/docs/nobody.md",
        ),
        (f"see [this]({URLS['Documentation']}nobody.html)", f"no page {URLS['Documentation']}nobody.html"),
        ("see `hooks/nobody.py`", "no file hooks/nobody.py"),
        ("see `src/feedwatch/nobody.py`", "no file src/feedwatch/nobody.py"),
        ("see `keras/src/nobody.py`", "no file keras/src/nobody.py"),
        ("see `hooks/run.py:Nobody`", "no Nobody in hooks/run.py"),
        ("see `feedwatch.nobody`", "no module feedwatch.nobody"),
        ("see [this](nobody.md)", "no page nobody.md"),
        ("see [this](CONTRIBUTING.md#nobody)", "no heading CONTRIBUTING.md#nobody"),
    ],
)
def test_what_is_not_there_is_found(text, says):
    assert problems(text, ROOT / "CONTRIBUTING.md") == [says]


def test_a_wrong_name_in_a_tree_is_found():
    assert tree_problems("src/feedwatch/\n  hooks/\n    run.py nobody.py   a line\n") == [
        "no nobody.py in src/feedwatch/hooks"
    ]


def test_what_is_there_is_not_a_problem():
    text = "`hooks/run.py:WatchedRun.hand_over`, `words.py`, `feedwatch.torch`, [it](docs/keras.md#versions), `tests/unit/`"
    assert len(named(text)) == 3
    assert problems(text, ROOT / "CONTRIBUTING.md") == []


# -- decisions ---------------------------------------------------------------------------------------

DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


def test_decisions_are_numbered_without_a_hole_and_all_are_in_the_index():
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    assert [page.name for page in DECISIONS if f"({page.name})" not in index] == []


@pytest.mark.parametrize("page", DECISIONS, ids=[page.stem for page in DECISIONS])
def test_a_decision_says_why_what_and_what_was_rejected(page):
    headings = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == ["Context", "Decision", "Rejected"]


# -- the hook that the guide builds ------------------------------------------------------------------


def guide_module(tmp_path, monkeypatch, name):
    """The block of "Adding a hook" whose first line is its file's name."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    chapter = text.partition("## Adding a hook")[2].partition("\n## ")[0]
    (block,) = [
        block for kind, block in FENCE.findall(chapter) if kind == "python" and block.startswith(f"# {name}.py")
    ]
    (tmp_path / f"{name}.py").write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def batches(count):
    return [[0.0] * 8 for _ in range(count)]


def test_the_hook_of_the_guide_measures_the_loop_of_the_guide(tmp_path, monkeypatch):
    looper, hook = (guide_module(tmp_path, monkeypatch, name) for name in ("looper", "looper_hook"))
    watch = hook.FeedWatch(tmp_path / "run", console=False)
    looper.train(batches(10), step=sum, epochs=3, listeners=[watch])
    report = watch.report
    assert report.status.value == "finished"
    assert report.steps.batches == 30
    assert report.steps.samples == 240
    assert report.steps.dropped == 0
    assert report.phases["input_wait"] is not None
    assert (tmp_path / "run" / "feedwatch" / "report.json").exists()


def test_an_error_in_the_loop_of_the_guide_reaches_its_user_and_the_report(tmp_path, monkeypatch):
    looper, hook = (guide_module(tmp_path, monkeypatch, name) for name in ("looper", "looper_hook"))
    watch = hook.FeedWatch(tmp_path / "run", console=False)
    theirs = ValueError("the user's own")

    def step(batch):
        raise theirs

    with pytest.raises(ValueError, match="the user's own") as caught:
        looper.train(batches(4), step=step, epochs=1, listeners=[watch])
    assert caught.value is theirs
    assert watch.report.status.value == "failed"
    assert watch.report.steps.batches == 0


def test_the_kill_switch_works_in_the_hook_of_the_guide(tmp_path, monkeypatch):
    looper, hook = (guide_module(tmp_path, monkeypatch, name) for name in ("looper", "looper_hook"))
    monkeypatch.setenv("FEEDWATCH", "0")
    watch = hook.FeedWatch(tmp_path / "run", console=False)
    looper.train(batches(4), step=sum, epochs=1, listeners=[watch])
    assert watch.report is None
    assert not (tmp_path / "run").exists()
