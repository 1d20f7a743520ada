"""What a scenario comes to."""

from typing import NamedTuple


class Row(NamedTuple):
    truth: str
    said: str
    agree: bool
