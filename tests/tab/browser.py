"""The tab in Debian's Chromium."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
POLL_MS = 10_000  # as in index.js
PICTURES = Path(__file__).parents[2] / "test-output" / "tab"


class Tab:
    """One page of TensorBoard with the Feedwatch tab open. `problems` collects every error the page has."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._context: Any = None
        self.page: Any = None
        self.problems: list[str] = []

    def open(
        self,
        url: str,
        run: str | None = None,
        *,
        compare: tuple[str, ...] = (),
        dark: bool = False,
        size: tuple[int, int] = (1440, 1000),
        alone: bool = False,
        own_clock: bool = False,
    ) -> Any:
        """The tab's frame in the whole of TensorBoard, or alone, which is faster, once it has drawn something."""
        self._new_page(dark, size)
        if own_clock:
            self.page.clock.install()
        view = [("p.feedwatch.run", run)] if run is not None else []
        hash_ = "&".join(
            filter(None, ["feedwatch", urlencode(view + [("p.feedwatch.compare", name) for name in compare])])
        )
        if alone:
            self.page.goto(f"{url}/data/plugin_entry.html?name=feedwatch#{hash_}")
            self.page.locator("main").wait_for(timeout=30_000)
            return self.page
        self.page.goto(f"{url}/?darkMode={str(dark).lower()}#{hash_}")
        frame = self.page.frame_locator("iframe").first
        frame.locator("main").wait_for(timeout=30_000)
        return frame

    def open_file(self, path: Path, *, dark: bool = False) -> Any:
        self._new_page(dark, (1440, 1000))
        self.page.goto(path.as_uri())
        self.page.locator("main").wait_for(timeout=10_000)
        return self.page

    def blank(self) -> Any:
        self._new_page(dark=False, size=(800, 600))
        return self.page

    def _new_page(self, dark: bool, size: tuple[int, int]) -> None:
        self.close()
        self._context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
        )
        self._context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self._context.new_page()
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._listen)

    def _listen(self, message: Any) -> None:
        address = str(message.location.get("url", ""))
        # A rule that this version does not have is answered with 404 and shown as a sentence.
        if message.type == "error" and "plugin/feedwatch" in address and "/rule?" not in address:
            self.problems.append(message.text)

    def until_polled(self, wanted: Any, most: int = 60) -> None:
        """Turns the page's own clock on, by one question at a time, until the answer has come."""
        for _ in range(most):
            if wanted.count():
                return
            self.page.clock.fast_forward(POLL_MS)
            self.page.wait_for_timeout(200)
        raise AssertionError(f"did not come: {wanted}")

    def picture(self, name: str) -> None:
        if not os.environ.get("FEEDWATCH_PICTURES"):
            return
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.wait_for_timeout(300)  # the chart draws when its size is known
        self.page.screenshot(path=str(PICTURES / f"{name}.png"), animations="disabled")

    def close(self) -> None:
        if self._context is not None:
            self._context.close()
            self._context = None
