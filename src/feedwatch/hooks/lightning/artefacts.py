"""The HTML report as an artefact of the user's own tracker: W&B, MLflow, Comet."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from feedwatch.guard import Guard
from feedwatch.model.report import Report
from feedwatch.report.html import render_html
from feedwatch.report.json_form import dumps

FILE: Final = "report.html"
# Some of these clients send at once; training has ended, but nobody wants to wait for a slow server.
SECONDS: Final = 2.0


def attach_html(loggers: list[Any], report: Report, directory: Path, guard: Guard) -> None:
    """Every tracker that takes files gets one. A server that does not answer in time keeps its own thread busy."""
    senders = [(logger, send) for logger in loggers if (send := _sender(logger)) is not None]
    if not senders:
        return
    path = directory / FILE
    path.write_text(render_html([(directory.parent.name, json.loads(dumps(report)))]), encoding="utf-8")

    def send_all() -> None:
        for logger, send in senders:
            guard.run(send, logger, path)

    thread = threading.Thread(target=send_all, name="feedwatch-artefact", daemon=True)
    thread.start()
    thread.join(SECONDS)


def _sender(logger: Any) -> Callable[[Any, Path], None] | None:
    for kind in type(logger).__mro__:
        if kind.__name__ in _SENDERS:
            return _SENDERS[kind.__name__]
    return None


def _to_wandb(logger: Any, path: Path) -> None:
    logger.experiment.log_artifact(str(path), name=f"feedwatch-{logger.experiment.id}", type="report")


def _to_mlflow(logger: Any, path: Path) -> None:
    logger.experiment.log_artifact(logger.run_id, str(path), "feedwatch")


def _to_comet(logger: Any, path: Path) -> None:
    logger.experiment.log_asset(str(path), file_name=f"feedwatch/{FILE}")


_SENDERS: Final = {"WandbLogger": _to_wandb, "MLFlowLogger": _to_mlflow, "CometLogger": _to_comet}
