"""The run's course in at most 400 points: when full, neighbours are merged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from feedwatch.measure.columns import Columns
from feedwatch.model.report import Mark, SeriesSection

MAX_POINTS: Final = 400
MAX_MARKS: Final = 60


@dataclass(slots=True)
class _Point:
    step: int
    steps: int
    slices: int
    input_wait_ns: int | None
    h2d_ns: int | None
    compute_ns: int | None
    other_ns: int | None

    def merge(self, later: "_Point") -> None:
        self.step = later.step
        self.steps += later.steps
        self.slices += later.slices
        self.input_wait_ns = _sum(self.input_wait_ns, later.input_wait_ns)
        self.h2d_ns = _sum(self.h2d_ns, later.h2d_ns)
        self.compute_ns = _sum(self.compute_ns, later.compute_ns)
        self.other_ns = _sum(self.other_ns, later.other_ns)


class History:
    def __init__(self) -> None:
        self._points: list[_Point] = []
        self._marks: list[Mark] = []
        self._slices_per_point = 1

    def add(self, steps: Columns) -> None:
        point = _point(steps)
        last = self._points[-1] if self._points else None
        if last is not None and last.slices < self._slices_per_point:
            last.merge(point)
            return
        self._points.append(point)
        if len(self._points) > MAX_POINTS:
            self._halve()

    def mark(self, step: int, label: str) -> None:
        self._marks.append(Mark(step, label))
        if len(self._marks) > MAX_MARKS:
            self._marks = self._marks[::2]

    def series(self) -> SeriesSection:
        points = self._points
        return SeriesSection(
            step=tuple(point.step for point in points),
            input_wait=tuple(_mean_ms(point.input_wait_ns, point.steps) for point in points),
            h2d=tuple(_mean_ms(point.h2d_ns, point.steps) for point in points),
            compute=tuple(_mean_ms(point.compute_ns, point.steps) for point in points),
            other=tuple(_mean_ms(point.other_ns, point.steps) for point in points),
            marks=tuple(self._marks),
        )

    def _halve(self) -> None:
        merged: list[_Point] = []
        for index, point in enumerate(self._points):
            if index % 2:
                merged[-1].merge(point)
            else:
                merged.append(point)
        self._points = merged
        self._slices_per_point *= 2


def _point(steps: Columns) -> _Point:
    return _Point(
        step=steps.step[-1],
        steps=len(steps),
        slices=1,
        input_wait_ns=_total(steps.input_wait_ns),
        h2d_ns=_total(steps.h2d_ns),
        compute_ns=_total(steps.compute_ns),
        other_ns=_total(steps.other_ns),
    )


def _total(values_ns: Sequence[int] | None) -> int | None:
    return None if values_ns is None else sum(values_ns)


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _mean_ms(total_ns: int | None, steps: int) -> float | None:
    return None if total_ns is None or not steps else round(total_ns / steps / 1e6, 4)
