"""The user's loggers: which of them carries our figures, and who gets the HTML report as an artefact.

The order is: the explicit directory, else the user's own TensorBoard writer, else a run of our own. TensorBoard gets
everything, the other loggers get the scalars.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from feedwatch.files import replace_file
from feedwatch.guard import Guard
from feedwatch.hooks.destination import Destination, own_destination, sub_run
from feedwatch.hooks.lightning.tap import Names
from feedwatch.hooks.run import WatchedRun
from feedwatch.model.report import Report
from feedwatch.report.html import render_html
from feedwatch.report.json import dumps
from feedwatch.report.output import Output
from feedwatch.report.tensorboard import SummaryOutput

# Their clients queue or send by themselves and may be called from any thread. A call may also wait for the network,
# which the training thread must not do. Every other logger is called on the training thread, as Lightning calls it.
ANY_THREAD: Final = ("MLFlowLogger", "CometLogger", "NeptuneLogger")
# One row per window. More rows can only wait when one step lasts longer than all these windows together.
OUTBOX_ROWS: Final = 64
HTML_FILE: Final = "report.html"


# -- where the figures go ------------------------------------------------------------------------


def choose_destination(trainer: Any, log_dir: Path | None) -> Destination:
    home = _home(trainer) if log_dir is None else log_dir
    if trainer.global_rank != 0:
        return Destination(sub_run(home), ())  # every rank writes its report.json, only rank 0 writes event files
    if log_dir is not None:
        return own_destination(home)
    outputs: list[Output] = []
    outboxes: list[Output] = []
    for logger in trainer.loggers:
        output = tensorboard_output(logger) if not outputs else None
        if output is not None:
            outputs.append(output)
        elif not is_tensorboard(logger):
            outboxes.append(MetricsOutput(logger))
    return Destination(sub_run(home), (*(outputs or own_destination(home).outputs), *outboxes))


def outboxes_of(destination: Destination) -> tuple["MetricsOutput", ...]:
    """The loggers that want to be called by the training thread."""
    return tuple(output for output in destination.outputs if isinstance(output, MetricsOutput))


def _home(trainer: Any) -> Path:
    if trainer.world_size > 1:
        shared = _broadcast_log_dir(trainer)
        if shared is not None:
            return shared
    loggers = list(trainer.loggers)
    logger = next((each for each in loggers if is_tensorboard(each)), loggers[0] if loggers else None)
    found = getattr(logger, "log_dir", None) or getattr(logger, "save_dir", None) or trainer.default_root_dir
    return Path(found)


def _broadcast_log_dir(trainer: Any) -> Path | None:
    """Rank 0's directory. Lightning has broadcast it for the profiler, so we need no collective of our own."""
    profiler = trainer.profiler
    if type(profiler).__name__ == "PassThroughProfiler" and profiler.dirpath:
        return Path(profiler.dirpath)
    return None


def is_tensorboard(logger: Any) -> bool:
    return any(kind.__name__ == "TensorBoardLogger" for kind in type(logger).__mro__)


# -- loggers as outputs --------------------------------------------------------------------------


def tensorboard_output(logger: Any) -> SummaryOutput | None:
    """The writer that a TensorBoardLogger already has, or None. Private names of torch, so each is checked."""
    get_writer = getattr(getattr(logger, "experiment", None), "_get_file_writer", None)
    if not is_tensorboard(logger) or get_writer is None:
        return None
    writer = get_writer()  # here, on the training thread: two threads must not make it at the same time
    if not callable(getattr(writer, "add_summary", None)) or not callable(getattr(writer, "flush", None)):
        return None
    return SummaryOutput(lambda step, summary, wall_s: writer.add_summary(summary, step, wall_s), writer.flush)


class MetricsOutput:
    """Scalars by `log_metrics`. The report itself stays in report.json."""

    def __init__(self, logger: Any) -> None:
        self._log_metrics = logger.log_metrics  # taken before we wrap it: what we log is our time, not the logger's
        self._any_thread = any(kind.__name__ in ANY_THREAD for kind in type(logger).__mro__)
        self.rows: deque[tuple[int, dict[str, float]]] = deque(maxlen=OUTBOX_ROWS)

    def scalars(self, step: int, values: Mapping[str, float], wall_s: float) -> None:
        if self._any_thread:
            self._log_metrics(dict(values), step=step)
        else:
            self.rows.append((step, dict(values)))

    def drain(self) -> None:
        """On the training thread, between two steps."""
        while self.rows:
            step, values = self.rows.popleft()
            self._log_metrics(values, step=step)

    def advice(self, step: int, markdown: str, wall_s: float) -> None: ...
    def report(self, step: int, report: Report, wall_s: float) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


# -- how long they take --------------------------------------------------------------------------


def time_loggers(trainer: Any, run: WatchedRun, names: Names) -> None:
    """Loggers have no name in the profiler, so their two working methods are timed on the instance."""
    for logger in trainer.loggers:
        category = names.number("logger", type(logger).__name__)
        for method in ("log_metrics", "save"):
            if callable(getattr(logger, method, None)) and hasattr(logger, "__dict__"):
                run.time(logger, method, category)


# -- the HTML report as an artefact --------------------------------------------------------------


def attach_html(loggers: list[Any], report: Report, directory: Path, guard: Guard, seconds: float) -> None:
    """Every tracker that takes files gets the report. Some send it before they return: neither for a server that does
    not answer nor for a disk that stalls does the end of training wait longer than this.
    """
    senders = [(logger, send) for logger in loggers if (send := _sender(logger)) is not None]
    if not senders:
        return
    path = directory / HTML_FILE

    def send_all() -> None:
        page = render_html([(directory.parent.name, json.loads(dumps(report)))])
        guard.run(replace_file, path, page.encode())
        for logger, send in senders:
            guard.run(send, logger, path)

    thread = threading.Thread(target=send_all, name="feedwatch-artefact", daemon=True)
    thread.start()
    thread.join(seconds)


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
    logger.experiment.log_asset(str(path), file_name=f"feedwatch/{HTML_FILE}")


_SENDERS: Final = {"WandbLogger": _to_wandb, "MLFlowLogger": _to_mlflow, "CometLogger": _to_comet}
