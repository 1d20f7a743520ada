"""Takes the pictures of docs/images: runs the demo and some small trainings here, opens the tab, looks at it.

make pictures                                     # everything: about four minutes
python tools/take_pictures.py --runs DIR          # keep the runs, or take pictures again of runs that are there

Nothing in a picture is made up: what is not in these runs is not shown. Needs Debian's chromium.
"""

import argparse
import io
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import sync_playwright

from benchmarks import machine
from feedwatch import __version__

ROOT: Final = Path(__file__).resolve().parents[1]
IMAGES: Final = ROOT / "docs" / "images"
CHROMIUM: Final = "/usr/bin/chromium"
PORT: Final = 6217
# 256 colours are enough for a flat page, and a third of the size. Grounds and text are the frequent ones; the rare ones
# have a meaning each, and stay apart.
FREQUENT, RARE = 192, 64

BEFORE, AFTER, TRIAL = "demo/lightning/before", "demo/lightning/after", "demo/lightning/before-trial"
STAGES = "demo/keras/before"


def train(runs: Path) -> None:
    """What is there already is not trained again."""
    if not (runs / "runs" / "demo").exists():
        _python("-m", "feedwatch", "demo", "--log-dir", str(runs / "runs" / "demo"))
    for kind, place in {
        "healthy": "runs/healthy",
        "failed": "runs/failed",
        "ranks": "runs/ranks",
        "many": "many",
    }.items():
        if not (runs / place).exists():
            _python(str(ROOT / "tools" / "picture_runs.py"), kind, str(runs / place))
    (runs / "nothing").mkdir(exist_ok=True)


def _python(*words: str) -> None:
    print("training:", *words, flush=True)
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603


@contextmanager
def tensorboard(logdir: Path) -> Iterator[str]:
    address = f"http://127.0.0.1:{PORT}"
    words = [
        sys.executable,
        "-m",
        "tensorboard.main",
        "--logdir",
        str(logdir),
        "--port",
        str(PORT),
        "--load_fast=false",
    ]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        _wait_for(f"{address}/data/plugin/feedwatch/summary", runs=logdir.name != "nothing")
        yield address
    finally:
        server.terminate()
        server.wait(20)


def _wait_for(address: str, *, runs: bool) -> None:
    """TensorBoard reads in the background: a count of runs that no longer grows is complete."""
    seen = b""
    for _ in range(60):
        time.sleep(2)
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 -- our own server
                now = answer.read()
        except OSError:
            continue
        if now == seen and (not runs or b'"run"' in now):
            return
        seen = now
    raise SystemExit("TensorBoard did not answer in time")


def origin() -> PngInfo:
    """Stands in the file itself: a picture of a real run says so."""
    seen = machine.describe()
    info = PngInfo()
    info.add_text(
        "Source",
        f"a real run, feedwatch {__version__}, {time.strftime('%Y-%m-%d')}, {seen['cpu']}, {seen['cpus']:g} CPUs, "
        f"GPU: {seen['gpu']}",
    )
    return info


class Camera:
    def __init__(self, browser: Any) -> None:
        self._browser = browser

    def take(
        self,
        name: str,
        address: str,
        query: str = "",
        *,
        dark: bool = False,
        size: tuple[int, int] = (1440, 1000),
        first: Callable[[Any], None] = lambda _: None,
        card: str | None = None,
    ) -> None:
        """`first`: what a reader would click before looking; `card`: only the card of this title."""
        width, height = size
        page = self._browser.new_page(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        if address.startswith("file:"):
            page.goto(address)
            room = page
        else:
            page.goto(f"{address}/?darkMode={str(dark).lower()}#feedwatch{query}")
            room = page.frame_locator("iframe").first
        room.locator("main").wait_for(timeout=30_000)
        page.wait_for_timeout(1500)  # charts draw when their size is known
        first(room)
        page.wait_for_timeout(500)
        shown = page if card is None else _card(room, card)
        picture = Image.open(io.BytesIO(shown.screenshot(animations="disabled"))).convert("RGB")
        _flat(picture).save(IMAGES / f"{name}.png", optimize=True, pnginfo=origin())
        print(f"{name}.png: {(IMAGES / f'{name}.png').stat().st_size // 1024} KB", flush=True)
        page.close()


def _flat(picture: Image.Image) -> Image.Image:
    counted = sorted(picture.getcolors(picture.width * picture.height) or (), reverse=True)
    frequent = [part for _, colour in counted[:FREQUENT] for part in colour]  # type: ignore[union-attr] -- RGB
    rare = picture.quantize(RARE, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*frequent, *rare[: 3 * RARE]])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def run(name: str) -> str:
    return "&p.feedwatch.run=" + name.replace("/", "%2F")


def compared(*names: str) -> str:
    return "".join("&p.feedwatch.compare=" + name.replace("/", "%2F") for name in names)


def _scrolled_to(heading: str) -> Callable[[Any], None]:
    return lambda room: room.get_by_role("heading", name=heading).first.scroll_into_view_if_needed()


def _card(room: Any, title: str) -> Any:
    return room.locator("section.card", has=room.get_by_role("heading", name=title, exact=True))


def _point_at_the_chart(room: Any) -> None:
    card = _card(room, "Where a step goes")
    card.scroll_into_view_if_needed()
    card.locator("svg").first.hover()


def _open_rule(room: Any) -> None:
    room.locator("details.rule summary").first.click()
    room.locator("details.rule .page h3, details.rule .page h4").first.wait_for(timeout=10_000)
    room.locator("details.rule").first.scroll_into_view_if_needed()


def take_all(runs: Path, camera: Camera) -> None:
    own = names(runs / "runs")
    with tensorboard(runs / "runs") as address:
        camera.take("input-bound-light", address, run(own["before"]))
        camera.take("input-bound-dark", address, run(own["before"]), dark=True)
        camera.take("narrow", address, run(own["before"]), size=(720, 1000))
        camera.take("wide", address, run(own["before"]), size=(1920, 1080))
        camera.take("healthy", address, run(own["healthy"]))
        camera.take("failed", address, run(own["failed"]))
        camera.take("ranks", address, run(own["ranks"]), first=_scrolled_to("Ranks"))
        camera.take("tf-data", address, run(own["stages"]), first=_scrolled_to("Input pipeline"))
        camera.take("hover", address, run(own["before"]), first=_point_at_the_chart)
        camera.take("rule-page", address, run(own["before"]), first=_open_rule)
        camera.take("timeline", address, run(own["before"]), card="What happened in the last steps")
        camera.take("trial", address, run(own["trial"]), card="Measured in turns")
        camera.take("compare", address, run(own["before"]) + compared(own["before"], own["after"]))
    with tensorboard(runs / "many") as address:
        camera.take("fifteen-runs", address)
    with tensorboard(runs / "nothing") as address:
        camera.take("no-data", address)
    page = runs / "report.html"
    _python("-m", "feedwatch", "report", str(runs / "runs" / BEFORE), "--html", str(page))
    camera.take("html-report", page.as_uri())


def names(runs: Path) -> dict[str, str]:
    """As TensorBoard names them: the directories in which their event files lie."""
    where = {
        "before": BEFORE,
        "after": AFTER,
        "stages": STAGES,
        "trial": TRIAL,
        "healthy": "healthy",
        "failed": "failed",
        "ranks": "ranks",
    }
    return {
        key: next((runs / name).rglob("events.out.tfevents.*")).parent.relative_to(runs).as_posix()
        for key, name in where.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, help="where the runs are, or are kept")
    chosen = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as played:
        runs = (chosen or Path(temporary)).resolve()
        runs.mkdir(parents=True, exist_ok=True)
        train(runs)
        browser = played.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        take_all(runs, Camera(browser))
        browser.close()


if __name__ == "__main__":
    main()
