"""`feedwatch run train.py`: train as the script does, watched, without an edit."""

import argparse
import runpy
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Final

from feedwatch.errors import FeedwatchError
from feedwatch.model.report import Status
from feedwatch.settings import switched_off

EXIT_FAILED: Final = 1
NOTHING_WATCHED: Final = (
    "feedwatch: nothing was watched: the script called no fit, no Trainer and iterated no DataLoader in this process"
)
ONLY_KERAS_2: Final = "feedwatch: nothing was watched: Keras 2 (tf_keras) is not measured, feedwatch needs Keras 3"
EXIT_INTERRUPTED: Final = 130


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("run", help="run a training script, watched, without an edit")
    parser.add_argument(
        "--log-dir", help="where a loop of the script's own is written (default: a new one below runs/)"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module, as with python -m")
    parser.add_argument("script", help="train.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own")


def run(args: argparse.Namespace) -> int:
    from feedwatch.hooks.everywhere import Everywhere

    if not args.module and not Path(args.script).is_file():
        raise FeedwatchError(f"no such script: {args.script}")
    watched = Everywhere(log_dir(args))
    watched.install()
    status = Status.FINISHED
    try:
        _run_script(args)
    except SystemExit as stop:
        status = Status.FINISHED if stop.code in (None, 0) else Status.FAILED
        raise
    except KeyboardInterrupt as error:
        status = Status.INTERRUPTED
        return _told(error, EXIT_INTERRUPTED)
    except Exception as error:
        status = Status.FAILED
        return _told(error, EXIT_FAILED)
    finally:
        watched.close(status)
    if not switched_off() and not _opened():
        print(ONLY_KERAS_2 if "tf_keras" in sys.modules else NOTHING_WATCHED, file=sys.stderr)
    return 0


def _opened() -> int:
    """Runs that were watched in this process. A script without a training loads no hook at all."""
    hooks = sys.modules.get("feedwatch.hooks.run")
    return 0 if hooks is None else hooks.WatchedRun.opened


def log_dir(args: argparse.Namespace) -> Path:
    stem = args.script.rpartition(".")[2] if args.module else Path(args.script).stem
    return Path(args.log_dir) if args.log_dir else Path("runs") / time.strftime(f"{stem}-%Y%m%d-%H%M%S")


def _run_script(args: argparse.Namespace) -> None:
    sys.argv = [args.script, *args.arguments]
    if args.module:
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(args.script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(args.script).resolve().parent))
        runpy.run_path(args.script, run_name="__main__")


def _told(error: BaseException, code: int) -> int:
    """As Python itself tells an error of the script's, without our own frames above it. What asks at the end of the
    process how the script ended finds it where Python leaves it.
    """
    inside = error.__traceback__
    while inside is not None and inside.tb_frame.f_globals.get("__name__") != "__main__":
        inside = inside.tb_next
    sys.last_value = error
    traceback.print_exception(type(error), error, inside or error.__traceback__)
    return code
