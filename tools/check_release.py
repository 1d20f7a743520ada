"""Refuses a tag that is not the version of the package, or that the changelog does not know.

python tools/check_release.py v0.2.0
"""

import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def version() -> str:
    text = (ROOT / "src" / "feedwatch" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    assert found is not None
    return found.group(1)


def problems(tag: str) -> list[str]:
    chapters = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    wrong = [] if tag == f"v{version()}" else [f"the tag is {tag}, the package says {version()}"]
    return wrong if version() in chapters else [*wrong, f"CHANGELOG.md has no chapter for {version()}"]


if __name__ == "__main__":
    found = problems(sys.argv[1])
    print("\n".join(found) or "tag, version and changelog agree")
    sys.exit(1 if found else 0)
