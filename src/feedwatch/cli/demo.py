"""`feedwatch demo [keras|lightning]`: a stalled run on this machine, the advice, and the gain after following it."""

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from feedwatch.errors import FeedwatchError

FRAMEWORKS: Final = {"keras": "tensorflow", "lightning": "lightning"}


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("demo", help="train a small stalled model, show the advice, apply it")
    parser.add_argument("framework", nargs="?", choices=sorted(FRAMEWORKS), help="default: every one installed")
    parser.add_argument("--log-dir", metavar="DIR", type=Path, default=Path("runs/demo"), help="default: runs/demo")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from feedwatch.demo.story import tell

    console = Console()
    for framework in _chosen(args.framework):
        tell(_chapter(framework), args.log_dir / framework, console)
    console.print(f"\nSee it in TensorBoard:\n  tensorboard --logdir {args.log_dir}", soft_wrap=True)
    return 0


def _chosen(framework: str | None) -> list[str]:
    installed = [name for name, package in FRAMEWORKS.items() if find_spec(package) is not None]
    if framework is None:
        if not installed:
            raise FeedwatchError('neither Keras nor Lightning is installed: pip install "feedwatch[keras]"')
        return installed
    if framework not in installed:
        raise FeedwatchError(f'{framework} is not installed: pip install "feedwatch[{framework}]"')
    return [framework]


def _chapter(framework: str) -> Any:
    if framework == "keras":
        from feedwatch.demo.keras_chapter import KerasChapter

        return KerasChapter()
    from feedwatch.demo.lightning_chapter import LightningChapter

    return LightningChapter()
