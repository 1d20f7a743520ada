"""`feedwatch explain FW101`: a finding's page, by code or by name."""

import argparse
import sys
from difflib import get_close_matches
from typing import Any, Final

from feedwatch.advise.pages import page_markdown
from feedwatch.advise.registry import RULES

EXIT_UNKNOWN: Final = 2


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("explain", help="what a finding means and what to do about it")
    parser.add_argument("code", help="FW101, or its name: loader-without-workers")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.markdown import Markdown

    try:
        text = page_markdown(args.code)
    except KeyError:
        print(f"feedwatch: no finding is called {args.code!r}{_nearest(args.code)}", file=sys.stderr)
        return EXIT_UNKNOWN
    Console().print(Markdown(text))
    return 0


def _nearest(code: str) -> str:
    known = [name for rule in RULES for name in (rule.code.lower(), rule.name)]
    near = get_close_matches(code.strip().lower(), known, n=1)
    if not near:
        return f"; they are {RULES[0].code} to {RULES[-1].code}"
    return f"; did you mean {near[0].upper() if near[0].startswith('fw') else near[0]}?"
