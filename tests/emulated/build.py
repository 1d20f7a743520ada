"""Compiles the emulated device from the torch wheel's own headers, once per torch version and state of the sources.

The library lies inside the environment's directory, so that a fresh environment builds it once (about a minute) and
every later run of the tests only loads it.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

import torch

NAME: Final = "emulated_device"
OLDEST_TORCH: Final = (2, 13)
REPOSITORY: Final = Path(__file__).parents[2]
SOURCES: Final = Path(__file__).parent / "csrc"
HEADERS: Final = Path(torch.__file__).parent / "include"
# Optimising saves microseconds per operation and costs half a minute; assertions of torch stay on either way.
FLAGS: Final = ["-std=c++20", "-O1", "-g0", "-DUSE_KINETO", "-DFMT_HEADER_ONLY", f"-isystem{HEADERS / 'kineto'}"]


class CannotBuild(RuntimeError):
    """Something that compiling needs is not on this machine; the message is one line that names it."""


def library() -> ModuleType:
    ensure_built()
    spec = importlib.util.spec_from_file_location(NAME, _folder() / f"{NAME}.so")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ensure_built() -> None:
    """Does not load it: a process that has loaded it has an accelerator for good."""
    if _is_built():
        return
    if missing := what_is_missing():
        raise CannotBuild(f"the emulated device cannot be built: {missing}")
    if errors := _errors_of_build(_folder()):
        raise RuntimeError(f"the emulated device does not compile:\n{errors}")


def what_is_missing() -> str | None:
    if torch_version() < OLDEST_TORCH:
        return f"its sources are for torch {OLDEST_TORCH[0]}.{OLDEST_TORCH[1]} or newer, here is {torch.__version__}"
    if shutil.which(_compiler()) is None:
        return f"no C++ compiler ({_compiler()}) was found; on Debian `apt-get install g++`"
    if shutil.which("ninja", path=_path_with_environment()) is None:
        return "ninja was not found; `pip install ninja`"
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        return "Python.h was not found; on Debian `apt-get install python3-dev`"
    return None


def torch_version() -> tuple[int, ...]:
    return tuple(int(part) for part in torch.__version__.split(".")[:2])


def _compiler() -> str:
    return os.environ.get("CXX", "g++")


def _folder() -> Path:
    """Its name changes with everything that changes the library."""
    state = hashlib.sha256(" ".join([_compiler(), *FLAGS]).encode())
    for file in sorted(SOURCES.iterdir()):
        state.update(file.name.encode())
        state.update(file.read_bytes())
    python = sys.implementation.cache_tag
    return Path(sys.prefix, "emulated-device", f"torch-{torch.__version__}-{python}-{state.hexdigest()[:16]}")


def _is_built() -> bool:
    return (_folder() / f"{NAME}.so").exists()


@cache
def _errors_of_build(folder: Path) -> str | None:
    """Tried once per process, not once per test."""
    with _one_at_a_time(folder.parent):
        if _is_built():
            return None
        command = [sys.executable, "-m", "tests.emulated.build"]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    said = [line for line in done.stdout.splitlines() if "error" in line] or done.stderr.splitlines()
    return "\n".join(said[-10:]) if done.returncode else None


def _compile(folder: Path) -> None:
    from torch.utils import cpp_extension

    # A build that is interrupted leaves a folder nobody looks for, and torch's own lock in it.
    draft = folder.with_name(f"{folder.name}.draft-{os.getpid()}")
    draft.mkdir(parents=True)
    try:
        os.environ["PATH"] = _path_with_environment()
        os.environ.setdefault("MAX_JOBS", "2")  # each takes a gigabyte
        sources = [str(file) for file in sorted(SOURCES.glob("*.cpp"))]
        cpp_extension.load(NAME, sources, extra_cflags=FLAGS, build_directory=str(draft), verbose=True)
        for file in draft.glob("*.o"):
            file.unlink()
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """The second of two test runs waits for the first one's build; the kernel frees the lock of a killed one."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _path_with_environment() -> str:
    """`.venv/bin/python -m pytest` does not put the environment's programs on the path, and ninja is one of them."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


if __name__ == "__main__":
    _compile(_folder())
