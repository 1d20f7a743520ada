"""Writes the second half of constraints.txt: what our packages need in turn, in the versions that are installed here.
Then hashes.txt: the same versions, each with the hash of its file.

    python tools/pins.py        # after a change to the first half, or to the dependencies in pyproject.toml

pip says which files it would take and what their hashes are; nothing is installed.
"""

import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[1]
FILE: Final = ROOT / "constraints.txt"
HASHES: Final = ROOT / "hashes.txt"
HEAD: Final = """
# What the packages above need, so that the same command gives the same environment on another day; written by
# tools/pins.py, like hashes.txt.
"""
HASHES_HEAD: Final = """\
# Every version of constraints.txt with the hash of its file: Linux on x86-64, Python 3.11, the CPU build of torch.
# Written by tools/pins.py. `make locked` installs these files and no others: pip refuses one whose hash differs.
# A file of its own, because a hash in constraints.txt would make pip ask for one everywhere, also on other platforms.
"""
# Installed by the Makefile: litdata, whose own requirements cannot all be met, needs them; pip installs the others.
BESIDE: Final = ("boto3", "obstore", "tifffile", "pip")


def pinned(text: str) -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def needed() -> dict[str, str]:
    """Everything that is installed because we, or what we test with, need it."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = [text for group in found["project"]["optional-dependencies"].values() for text in group]
    groups = [text for group in found["dependency-groups"].values() for text in group]
    wanted = [*found["project"]["dependencies"], *extras, *groups, *BESIDE]
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


def hashed(versions: dict[str, str]) -> str:
    """A requirements file for `pip install --require-hashes`."""
    pins = [f"{name}=={version}" for name, version in sorted(versions.items())]
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        words = ["install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--report", str(answer)]
        subprocess.run([sys.executable, "-m", "pip", *words, *pins], check=True)  # noqa: S603
        files = json.loads(answer.read_text(encoding="utf-8"))["install"]
    digests = {
        canonicalize_name(file["metadata"]["name"]): file["download_info"]["archive_info"]["hashes"]["sha256"]
        for file in files
    }
    lines = [f"{name}=={version} --hash=sha256:{digests[name]}" for name, version in sorted(versions.items())]
    return HASHES_HEAD + "\n".join(lines) + "\n"


def main() -> None:
    chosen = FILE.read_text(encoding="utf-8").partition(HEAD)[0].rstrip("\n") + "\n"
    above = pinned(chosen)
    rest = {name: version for name, version in sorted(needed().items()) if name not in above}
    FILE.write_text(chosen + HEAD + "".join(f"{name}=={version}\n" for name, version in rest.items()), encoding="utf-8")
    HASHES.write_text(hashed(above | rest), encoding="utf-8")


if __name__ == "__main__":
    main()
