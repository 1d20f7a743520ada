"""The command line: one module per command, each with `add_parser` and `run`."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from feedwatch import __version__
from feedwatch.errors import FeedwatchError

COMMANDS: Final = ("demo", "run", "try", "report", "check", "compare", "trace", "explain", "doctor", "selftest")
# `try` is a word of Python's, and no name for a module.
MODULES: Final = {"try": "trial"}

EXIT_ERROR: Final = 2
EXIT_INTERRUPTED: Final = 130


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="feedwatch", description="Why training waits for data, and what to change, in your own numbers."
    )
    parser.add_argument("--version", action="version", version=f"feedwatch {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands = {name: import_module(f"feedwatch.cli.{MODULES.get(name, name)}") for name in COMMANDS}
    for command in commands.values():
        command.add_parser(subparsers)
    args = parser.parse_args(argv)
    _print_any_name()
    try:
        return int(commands[args.command].run(args))
    except FeedwatchError as error:
        print(f"feedwatch: {one_line(str(error))}", file=sys.stderr)
        return EXIT_ERROR
    except BrokenPipeError:
        # `feedwatch report … | head` closes the pipe early. Without this line Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _print_any_name() -> None:
    """Names of files need not be text, and a terminal need not know every character: neither is a reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def one_line(text: str) -> str:
    return " ".join(text.split())
