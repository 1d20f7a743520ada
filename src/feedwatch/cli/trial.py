"""`feedwatch try train.py`: the script trains for a moment, then variants of its input take turns; nothing is kept."""

import argparse
import os
import re
import sys
from typing import Any

from feedwatch.cli import run as plain_run
from feedwatch.errors import FeedwatchError
from feedwatch.settings import TRIAL_SECONDS, TRIAL_VARIABLE, TrialWish
from feedwatch.words import number

_CODE = re.compile(r"FW\d{3}")


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "try", help="run a training script for a minute, and measure what other settings of its input gain"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=TRIAL_SECONDS,
        help=f"at most, for the trial itself (default {number(TRIAL_SECONDS)})",
    )
    parser.add_argument("--only", type=codes, default=(), metavar="FW101,…", help="only the changes of these rules")
    parser.add_argument("--log-dir", help="where its report is written (default: a new one below runs/)")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module, as with python -m")
    parser.add_argument("script", help="train.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own")


def codes(text: str) -> tuple[str, ...]:
    found = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    wrong = [part for part in found if not _CODE.fullmatch(part)]
    if wrong:
        raise argparse.ArgumentTypeError(f"{wrong[0]} is no code such as FW101")
    return found


def run(args: argparse.Namespace) -> int:
    home = plain_run.log_dir(args)
    if not args.log_dir:
        home = home.with_name(f"trial-{home.name}")
    args.log_dir = str(home)
    wish = TrialWish(args.seconds, args.only, args.log_dir)
    os.environ[TRIAL_VARIABLE] = wish.to_environment()
    try:
        code = plain_run.run(args)
    except SystemExit as stop:
        _leave(stop)
        raise
    finally:
        del os.environ[TRIAL_VARIABLE]
    if code == 0 and not any(home.rglob("report.json")):
        raise FeedwatchError(f"no training was seen in {args.script}: there is nothing to try")
    return code


def _leave(stop: SystemExit) -> None:
    """A trial ends in the middle of the script's training, and TensorFlow may still wait for a generator of the
    script's that never ends: the interpreter would wait for it, too. All that is ours is written by now.
    """
    over = sys.modules.get("feedwatch.trial.board")
    if over is not None and isinstance(stop, over.TrialOver):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
