"""A fixed ring of rows of integers: marks that wait for a later reading. Full means the oldest row goes, counted."""

from array import array


class Ring:
    __slots__ = ("_cells", "_first", "_rows", "_width", "dropped", "size")

    def __init__(self, rows: int, width: int) -> None:
        self._cells = array("q", bytes(8 * rows * width))
        self._rows, self._width = rows, width
        self._first = 0
        self.size = 0
        self.dropped = 0

    def append(self, row: tuple[int, ...]) -> None:
        if self.size == self._rows:
            self._first = (self._first + 1) % self._rows
            self.dropped += 1
        else:
            self.size += 1
        at = (self._first + self.size - 1) % self._rows * self._width
        for offset in range(self._width):
            self._cells[at + offset] = row[offset]

    def drain(self) -> list[tuple[int, ...]]:
        """All rows, oldest first; the ring is empty afterwards."""
        rows = []
        for index in range(self.size):
            at = (self._first + index) % self._rows * self._width
            rows.append(tuple(self._cells[at : at + self._width]))
        self._first = self.size = 0
        return rows
