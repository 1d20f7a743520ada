"""Numbers that decide."""

from dataclasses import fields
from pathlib import Path

import feedwatch
from feedwatch.diagnose.thresholds import Thresholds

SOURCES = [file.read_text(encoding="utf-8") for file in Path(feedwatch.__file__).parent.rglob("*.py")]


def test_every_threshold_decides_something():
    unread = [one.name for one in fields(Thresholds) if not any(f"THRESHOLDS.{one.name}" in text for text in SOURCES)]
    assert unread == []
