"""Every test runs strict: what production swallows and counts is re-raised here, so no error of ours can hide."""

import os

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture(autouse=True)
def _strict(monkeypatch, request):
    """`@pytest.mark.lenient` is for tests of the swallowing itself."""
    if "lenient" in request.keywords:
        monkeypatch.delenv("FEEDWATCH_STRICT", raising=False)
    else:
        monkeypatch.setenv("FEEDWATCH_STRICT", "1")
    monkeypatch.delenv("FEEDWATCH", raising=False)


# Real frameworks, processes and browsers on a machine that others share: what fails once and not again was the
# machine. Unit tests and rules get no second chance.
SHARED_MACHINE = ("contract", "faults", "tab", "examples")


def pytest_collection_modifyitems(items):
    for item in items:
        if any(f"/tests/{room}/" in item.path.as_posix() for room in SHARED_MACHINE):
            item.add_marker(pytest.mark.flaky(reruns=1))
