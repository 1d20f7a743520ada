"""`python -m benchmarks`: measure, write results.json, render the pages. `--render` alone renders what is stored."""

import argparse
import json
import sys
from typing import Any

from benchmarks import machine
from benchmarks.pages import CHARTS, PAGES
from benchmarks.parts import NAMES, ROOT, PartFailed, beside, run_all
from benchmarks.targets import targets

RESULTS = ROOT / "benchmarks" / "results.json"


def main() -> int:
    options = _arguments()
    if options.render or options.check:
        return _render(_stored(), check=options.check)
    results = {"machine": machine.describe(), "parts": _stored().get("parts", {})}
    try:
        for key, answer in run_all(options.only, options.portion, quick=options.quick):
            stored = results["parts"].get(key) if options.portion else None
            results["parts"][key] = beside(stored, answer)
            if not options.quick:
                RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    except PartFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    if options.quick:
        print(PAGES["benchmarks/RESULTS.md"](results))
        return 0
    _render(results, check=False)
    for target in targets(results):
        print(target.line())
    print(f"written: {RESULTS.relative_to(ROOT)}, {', '.join(PAGES)}")
    return 0


def _render(results: dict[str, Any], *, check: bool) -> int:
    stale = []
    for name, page in {**PAGES, **CHARTS}.items():
        path, text = ROOT / name, page(results)
        if check:
            stale += [name] if not path.exists() or path.read_text() != text else []
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    for name in stale:
        print(f"{name} is not what benchmarks/results.json renders to: python -m benchmarks --render", file=sys.stderr)
    return 1 if stale else 0


def _stored() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return stored


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=NAMES, help="run one part; the others keep their stored figures")
    parser.add_argument("--portion", help="with --only: one portion of the part, beside what is stored of the others")
    parser.add_argument("--quick", action="store_true", help="a few rounds, printed and not stored: to try the scripts")
    parser.add_argument("--render", action="store_true", help="render the pages from the stored figures")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a page is not what would be rendered")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
