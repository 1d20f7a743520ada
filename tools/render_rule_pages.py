"""Writes docs/rules/*.md and docs/symptoms.md from the rules; with --check, only says what differs."""

import argparse
import sys
from pathlib import Path

from feedwatch.advise.pages import page_markdown, rule_index, symptom_index
from feedwatch.advise.registry import RETIRED, RULES

DOCS = Path(__file__).resolve().parent.parent / "docs"


def pages() -> dict[Path, str]:
    codes = [*(rule.code for rule in RULES), *RETIRED]
    wanted = {DOCS / "rules" / f"{code}.md": page_markdown(code) for code in codes}
    wanted[DOCS / "rules" / "README.md"] = rule_index()
    wanted[DOCS / "symptoms.md"] = symptom_index()
    return wanted


def stale() -> list[Path]:
    """Pages that are missing, differ from the rules, or belong to no rule."""
    wanted = pages()
    differing = [
        path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    return sorted(differing + [path for path in (DOCS / "rules").glob("*.md") if path not in wanted])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is stale")
    if parser.parse_args().check:
        for path in stale():
            print(f"stale: {path.relative_to(DOCS.parent)}", file=sys.stderr)
        return 1 if stale() else 0
    for path in stale():
        path.unlink(missing_ok=True)
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
