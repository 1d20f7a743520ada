"""Other people's tools get environments of their own, outside this repository; one that cannot be made is said."""

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import installed

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "feedwatch-bench"


class Unavailable(Exception):
    """Why a tool could not be installed or run, in one line."""


@dataclass(frozen=True, slots=True)
class Environment:
    directory: Path

    @property
    def python(self) -> Path:
        return self.directory / "bin" / "python"

    def script(self, name: str) -> Path:
        return self.directory / "bin" / name

    def version(self, package: str) -> str:
        asked = f"from importlib.metadata import version; print(version({package!r}))"
        return self.run([self.python, "-c", asked], 60).strip()

    def run(self, command: list[str | Path], seconds: float, cwd: Path | None = None, **more: str) -> str:
        """Standard output; the last line of the errors when it fails."""
        environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **more}
        try:
            ended = subprocess.run(
                [str(word) for word in command],
                env=environ,
                cwd=cwd,
                timeout=seconds,
                capture_output=True,
                text=True,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(str(error)) from error
        if ended.returncode:
            said = [line for line in (ended.stderr or ended.stdout).splitlines() if line.strip()]
            raise Unavailable(said[-1] if said else f"exit code {ended.returncode}")
        return ended.stdout


def prepared(name: str, *steps: list[str]) -> Environment:
    """`steps`: what pip installs, in order. Made once; the list of what was asked for is the mark of a whole one."""
    made = Environment(CACHE / name)
    mark, wanted = made.directory / "made.json", json.dumps([sys.version_info[:2], *steps])
    if mark.exists() and mark.read_text() == wanted:
        return made
    try:
        venv.create(made.directory, with_pip=True, symlinks=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"no environment could be made: {error}") from error
    for packages in steps:
        made.run([made.python, "-m", "pip", "install", "--quiet", *packages], 900)
    mark.write_text(wanted)
    return made


def same(package: str) -> str:
    """The version that is installed here, pinned."""
    found = installed(package)
    return package if found is None else f"{package}=={found.partition('+')[0]}"
