"""TensorBoard in this process, with either of its readers, for requests without a port and for a browser."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tensorboard import assets, default, program
from tensorboard.backend import application
from tensorboard.backend.event_processing import data_ingester
from tensorboard.data import server_ingester
from tensorboard.util import grpc_util
from werkzeug.serving import make_server
from werkzeug.test import Client

from feedwatch.tab.loader import FeedwatchLoader

READERS = ("python", "rust")


def wsgi(logdir: Path, reader: str = "python", path_prefix: str = "", reload_s: int = 0) -> Any:
    return app_on(*started(logdir, reader, path_prefix, reload_s))


def started(logdir: Path, reader: str, path_prefix: str = "", reload_s: int = 0) -> tuple[Any, Any]:
    """TensorBoard's flags and its reader, at work."""
    board = program.TensorBoard(default.get_plugins())
    board.configure(logdir=str(logdir), path_prefix=path_prefix, reload_interval=reload_s)
    ingester = _ingester(board.flags, reader)
    ingester.start()
    return board.flags, ingester


def app_on(flags: Any, ingester: Any) -> Any:
    return application.TensorBoardWSGIApp(
        flags,
        [*default.get_static_plugins(), FeedwatchLoader()],
        ingester.data_provider,
        assets.get_default_assets_zip_provider(),
        getattr(ingester, "deprecated_multiplexer", None),
    )


def _ingester(flags: Any, reader: str) -> Any:
    if reader == "python":
        return data_ingester.LocalDataIngester(flags)
    try:
        binary = server_ingester.get_server_binary()
    except server_ingester.NoDataServerError as problem:
        pytest.skip(f"no data server for this platform: {problem}")
    return server_ingester.SubprocessServerDataIngester(
        binary,
        flags.logdir,
        reload_interval=flags.reload_interval,
        channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
        samples_per_plugin=flags.samples_per_plugin,
    )


@contextmanager
def served(app: Any) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(5)


def wait_for_runs(client: Any, count: int, prefix: str = "", limit_s: float = 20.0) -> list[dict[str, Any]]:
    """Both readers load in the background; the answer is complete after a moment."""
    deadline = time.monotonic() + limit_s
    while True:
        runs: list[dict[str, Any]] = client.get(prefix + "/data/plugin/feedwatch/summary").get_json()["runs"]
        if len(runs) >= count or time.monotonic() > deadline:
            return runs
        time.sleep(0.1)


def all_read(app: Any, count: int) -> Any:
    """The application, once its reader has found so many runs: a page that is opened then shows them at once."""
    assert len(wait_for_runs(Client(app), count)) == count
    return app
