"""Decodes the events of a large JSON trace one by one, so that memory does not grow with the file.

Only the standard library's decoder is used; it is handed the text in pieces of a few megabytes.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from feedwatch.errors import TraceError

# Far above the longest value in any real file. A value that grows beyond it without an end is refused.
MAX_VALUE_CHARS: Final = 32 * 1024 * 1024

_SPACE: Final = re.compile(r"\s*")
_SEPARATORS: Final = re.compile(r"[\s,]*")
_NOTHING: Final = re.compile(r"(?!)()")


class CutOffError(TraceError):
    """The text ends in the middle of a value."""


class JsonStream:
    """`skipped` matches the beginning of an unwanted item; `boundary` finds its end, and has a group that tells whether
    the next item begins there.

    Items that are skipped are not decoded, which makes a large file several times faster. Where either does not
    match, the item is decoded as usual. `boundary` must match behind every item, so that no search goes further than
    the item it began in: a search to the end of the text at every item would take hours for a hostile file.
    """

    def __init__(
        self, pieces: Iterator[str], skipped: re.Pattern[str] = _NOTHING, boundary: re.Pattern[str] = _NOTHING
    ) -> None:
        self._pieces = pieces
        self._skipped = skipped
        self._boundary = boundary
        self._text = ""
        self._at = 0
        self._decoder = json.JSONDecoder(strict=False)  # raw tabs and line feeds in names: seen in real files

    def events(self, key: str) -> Iterator[Any]:
        """The items of the top-level list, or of the list under `key` in the top-level object."""
        opening = self._next_char()
        if opening == "[":
            yield from self._items()
        elif opening == "{":
            yield from self._items_under(key)
        else:
            raise TraceError("not a JSON trace")

    def _items_under(self, key: str) -> Iterator[Any]:
        self._at += 1
        found = False
        while (char := self._next_char(_SEPARATORS)) != "}":
            name = self._value() if char == '"' else None
            if not isinstance(name, str) or self._next_char() != ":":
                raise TraceError("not valid JSON")
            self._at += 1
            if name == key and self._next_char() == "[":
                found = True
                yield from self._items()
            else:
                self._next_char()
                self._value()
        if not found:
            raise TraceError(f"JSON, but not a trace: it has no list of {key}")

    def _items(self) -> Iterator[Any]:
        self._at += 1
        scan, separators = self._decoder.raw_decode, _SEPARATORS.match
        skipped, boundary = self._skipped.match, self._boundary.search
        while self._next_char(_SEPARATORS) != "]":
            # The inner loop runs a million times for a large file, so it stays within the text that is already here.
            text, at = self._text, self._at
            try:
                while text[at] == "{":
                    unwanted = skipped(text, at)
                    beyond = boundary(text, unwanted.end()) if unwanted else None
                    if beyond and beyond.group(1):
                        at = beyond.end()
                        continue
                    item, at = scan(text, at)
                    yield item
                    at = separators(text, at).end()  # type: ignore[union-attr]  # matches the empty string too
            except (ValueError, RecursionError, IndexError):
                self._at = at  # the text ends inside this item: `_value` below adds more
            else:
                self._at = at
            if self._next_char(_SEPARATORS) != "]":
                yield self._value()
        self._at += 1

    def _next_char(self, skipped: re.Pattern[str] = _SPACE) -> str:
        while True:
            found = skipped.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                raise CutOffError("cut off: the JSON does not end")

    def _value(self) -> Any:
        """The value that begins here. More text is added until it ends."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise TraceError("nested too deeply for a trace") from error
            except ValueError as error:
                pending = len(self._text) - self._at
                if pending > MAX_VALUE_CHARS:
                    raise TraceError("not valid JSON, or one value of more than 32 MiB") from error
                if not self._grow(at_least=pending):
                    raise CutOffError("cut off, or not valid JSON") from error
                continue
            # A number at the end of the text may go on in the next piece.
            if end == len(self._text) and self._grow():
                continue
            self._at = end
            return value

    def _grow(self, at_least: int = 0) -> bool:
        """Drop the text that was read and add at least that much. Doubling keeps the cost of retries linear."""
        added: list[str] = []
        size = 0
        for piece in self._pieces:
            added.append(piece)
            size += len(piece)
            if size >= max(1, at_least):
                break
        if not size:
            return False
        self._text = self._text[self._at :] + "".join(added)
        self._at = 0
        return True
