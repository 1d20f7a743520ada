"""`feedwatch explain FW101`: a finding's page, by code or by name. `--all --json`: every page, for a program."""

import argparse
import json
import sys
from difflib import get_close_matches
from typing import Any, Final

from feedwatch.advise.pages import page_markdown
from feedwatch.advise.registry import RULES
from feedwatch.errors import FeedwatchError

EXIT_UNKNOWN: Final = 2


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("explain", help="what a finding means and what to do about it")
    parser.add_argument("code", nargs="?", help="FW101, or its name: loader-without-workers")
    parser.add_argument("--all", action="store_true", help="every finding there is")
    parser.add_argument("--json", action="store_true", help="a list of objects: code, name and page (Markdown)")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.markdown import Markdown

    if bool(args.code) == args.all:
        raise FeedwatchError("explain takes one finding (FW101, or its name), or --all")
    try:
        pages = {code: page_markdown(code) for code in ([rule.code for rule in RULES] if args.all else [args.code])}
    except KeyError:
        print(f"feedwatch: no finding is called {args.code!r}{_nearest(args.code)}", file=sys.stderr)
        return EXIT_UNKNOWN
    if args.json:
        print(json.dumps([_object(code, page) for code, page in pages.items()], ensure_ascii=False, indent=1))
    else:
        Console().print(Markdown("\n\n".join(pages.values())))
    return 0


def _object(asked: str, page: str) -> dict[str, str]:
    rule = next((each for each in RULES if asked.strip().lower() in (each.code.lower(), each.name)), None)
    return {"code": asked if rule is None else rule.code, "name": "" if rule is None else rule.name, "page": page}


def _nearest(code: str) -> str:
    known = [name for rule in RULES for name in (rule.code.lower(), rule.name)]
    near = get_close_matches(code.strip().lower(), known, n=1)
    if not near:
        return f"; they are {RULES[0].code} to {RULES[-1].code}"
    return f"; did you mean {near[0].upper() if near[0].startswith('fw') else near[0]}?"
