"""Where a run's figures go: explicit directory › the user's own TensorBoard writer › a sub-run of our own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from feedwatch.errors import SettingError
from feedwatch.hooks.lightning.logger_output import MetricsOutput, tensorboard_output
from feedwatch.report.output import Output
from feedwatch.report.outputs import own_run

SUB_RUN: Final = "feedwatch"


@dataclass(frozen=True, slots=True)
class Destination:
    directory: Path  # report.json, or report.rank00001.json
    outputs: tuple[Output, ...]
    outboxes: tuple[MetricsOutput, ...] = ()  # loggers that want to be called by the training thread


def prepared(log_dir: str | Path | None) -> Path | None:
    """A directory that cannot be made is an error at construction, before the first step."""
    if log_dir is None:
        return None
    if "://" in str(log_dir):
        raise SettingError(f"log_dir must be a directory of this machine, not {str(log_dir)!r}")
    path = Path(log_dir).expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"log_dir {str(log_dir)!r} cannot be made: {error.strerror or error}") from error
    return path


def choose_destination(trainer: Any, log_dir: Path | None) -> Destination:
    directory = (_base(trainer) if log_dir is None else log_dir) / SUB_RUN
    if trainer.global_rank != 0:
        return Destination(directory, ())  # one file per rank; event files are rank 0's
    if log_dir is not None:
        return Destination(directory, (own_run(directory),))
    outputs: list[Output] = []
    outboxes: list[MetricsOutput] = []
    for logger in trainer.loggers:
        output = tensorboard_output(logger) if not outputs else None
        if output is not None:
            outputs.append(output)
        elif not _is_tensorboard(logger):
            outboxes.append(MetricsOutput(logger))
    if not outputs:
        outputs.append(own_run(directory))
    return Destination(directory, (*outputs, *outboxes), tuple(outboxes))


def _base(trainer: Any) -> Path:
    if trainer.world_size > 1:
        shared = _broadcast_log_dir(trainer)
        if shared is not None:
            return shared
    loggers = list(trainer.loggers)
    logger = next((each for each in loggers if _is_tensorboard(each)), loggers[0] if loggers else None)
    found = getattr(logger, "log_dir", None) or getattr(logger, "save_dir", None) or trainer.default_root_dir
    return Path(found)


def _broadcast_log_dir(trainer: Any) -> Path | None:
    """Rank 0's directory as Lightning itself sent it round for the profiler: no collective of our own."""
    profiler = trainer.profiler
    if type(profiler).__name__ == "PassThroughProfiler" and profiler.dirpath:
        return Path(profiler.dirpath)
    return None


def _is_tensorboard(logger: Any) -> bool:
    return any(kind.__name__ == "TensorBoardLogger" for kind in type(logger).__mro__)
