"""Writes the second half of constraints.txt: what our packages need in turn, in the versions that are installed here.

python tools/pins.py        # after a change to the first half, or to the dependencies in pyproject.toml
"""

import importlib.metadata
import re
from pathlib import Path
from typing import Final

import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[1]
FILE: Final = ROOT / "constraints.txt"
HEAD: Final = """
# What the packages above need, so that the same command gives the same environment on another day; written by
# tools/pins.py. There are no hashes: a CPU build of torch differs by platform and index, and pip's hash mode wants one
# for every file or for none. An audit of known vulnerabilities is a step for the person who updates this file:
# `pip-audit -r constraints.txt`.
"""


def pinned(text: str) -> dict[str, str]:
    return {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE)}


def needed() -> dict[str, str]:
    """Everything that is installed because we, or what we test with, need it."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = [text for group in found["project"]["optional-dependencies"].values() for text in group]
    groups = [text for group in found["dependency-groups"].values() for text in group]
    wanted = [*found["project"]["dependencies"], *extras, *groups]
    waiting = [made for text in wanted if (made := Requirement(text)).name != "feedwatch"]
    seen: set[tuple[str, frozenset[str]]] = set()
    versions: dict[str, str] = {}
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        package = importlib.metadata.distribution(requirement.name)
        versions[key[0]] = package.version.partition("+")[0]  # torch's builds have the platform behind it
        waiting += [more for text in package.requires or () if applies(more := Requirement(text), requirement.extras)]
    return versions


def applies(requirement: Requirement, extras: set[str]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def main() -> None:
    chosen = FILE.read_text(encoding="utf-8").partition(HEAD)[0].rstrip("\n") + "\n"
    above = pinned(chosen)
    rest = [f"{name}=={version}" for name, version in sorted(needed().items()) if name not in above]
    FILE.write_text(chosen + HEAD + "\n".join(rest) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
