"""The engine for usual steps: where the marks of one step are those of the step before, many steps are read at once.

What the engine does with a mark depends on what the mark says and on what is open, never on the time: two steps of the
same marks, begun in the same situation, are put together in the same way. So the engine is asked once, with places
instead of times, which span goes where; then a whole stretch of such steps is read by columns, in C. Everything else
goes through the engine mark by mark, and what comes out is the same (tests/unit/measure/test_usual_steps.py).
"""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import compress, count, islice, repeat
from operator import gt, itemgetter, le, lt, mul, ne, sub
from typing import Any, Final, NamedTuple

from feedwatch.measure.marks import (
    BEGIN,
    COMPUTE,
    END,
    ENTER,
    FIRST_NAMED,
    GOT,
    H2D,
    INPUT,
    LEAVE,
    LOADER_START,
    TRAINED,
    VALIDATION,
    WAS,
    Fetch,
    Mark,
)
from feedwatch.measure.steps import MAX_PENDING, MAX_SPAN_NS, Closed, Ends, Item, StepReader, Way
from feedwatch.model.steps import StepKind, StepRecord

# Looking for usual steps takes as long as reading a few of them.
LEAST_STEPS: Final = 4
# Read at once. More gain nothing.
MOST_STEPS: Final = 512
# In one step: a dozen callbacks have about 50.
MOST_MARKS: Final = 128
# Ways in which the steps of a run may look. There are a few.
MOST_PATTERNS: Final = 64
_SAME: Final = (ENTER, LEAVE, WAS)  # their detail says what they mean
_FREE: Final = (GOT, END, TRAINED)  # their detail is a figure
_ASIDE: Final = (VALIDATION, LOADER_START)

Column = Sequence[int]
_record: Final = partial(tuple.__new__, StepRecord)  # StepRecord._make, without a frame of Python's


class Span(NamedTuple):
    category: int
    from_place: int
    to_place: int


class Recipe(NamedTuple):
    """How one step is made of its marks. Places count from 0, the mark that opens it, to that which opens the next."""

    situation: tuple[Any, ...]
    spans: list[Span]
    step: Closed  # with places instead of times and figures
    asked: int | None  # place of the last ENTER of INPUT
    ended: int | None  # place of the END that counted
    numbered: bool  # each call has the number behind that of the call before


class Log(NamedTuple):
    ns: tuple[int, ...]
    what: tuple[int, ...]
    detail: tuple[Any, ...]


class UsualSteps(NamedTuple):
    """What waits for its late parts: `Closed`, by columns."""

    first_ns: Column
    called_ns: Column | None
    end_ns: Column
    wall_ns: Column
    wait_ns: Column
    copy_ns: Column
    compute_ns: Column
    fetches: list[tuple[Column, Column, Sequence[int | None]]]
    samples: Sequence[int | None]
    call: tuple[int, int]  # of the first step

    def part(self, first: int, behind: int | None = None) -> "UsualSteps":
        epoch, batch = self.call
        some = slice(first, behind)
        return UsualSteps(
            self.first_ns[some],
            None if self.called_ns is None else self.called_ns[some],
            self.end_ns[some],
            self.wall_ns[some],
            self.wait_ns[some],
            self.copy_ns[some],
            self.compute_ns[some],
            [(asked[some], got[some], samples[some]) for asked, got, samples in self.fetches],
            self.samples[some],
            (epoch, batch + first),
        )

    def singly(self) -> list[Closed]:
        epoch, batch = self.call
        return [
            Closed(
                self.first_ns[at],
                None if self.called_ns is None else self.called_ns[at],
                self.end_ns[at],
                self.wall_ns[at],
                self.wait_ns[at],
                self.copy_ns[at],
                self.compute_ns[at],
                [Fetch(asked[at], got[at], samples[at]) for asked, got, samples in self.fetches],
                self.samples[at],
                False,
                False,
                (epoch, batch + at),
            )
            for at in range(len(self.first_ns))
        ]


class ColumnReader(StepReader):
    """The engine, quick where steps are alike. It gives what StepReader gives."""

    def __init__(
        self, batches_per_call: int = 1, *, ends: Ends = Ends.MARKED, stamped: bool = False, device: bool = False
    ) -> None:
        super().__init__(batches_per_call, ends=ends, stamped=stamped, device=device)
        # Late parts other than stamped fetches come one by one, and steps that wait for a device are long.
        self._by_columns = self._per_call == 1 and ends is not Ends.DONE and not device
        self._opened = False
        self._recipes: dict[tuple[Any, ...], Recipe | None] = {}
        self._more_pending = 0  # steps beyond the number of pending entries

    # -- marks -----------------------------------------------------------------------------------

    def _take(self, marks: Iterable[Mark]) -> None:
        rows = list(marks)
        if not self._by_columns or not rows:
            super()._take(rows)
            return
        log, handlers = Log(*(tuple(map(itemgetter(part), rows)) for part in range(3))), self._handlers
        at, opened, behind = 0, None, len(rows)
        while at < behind:
            ns, what, detail = rows[at]
            at += 1
            self._opened = False
            handlers[what](ns, detail)
            if self._opened:
                while opened is not None and (steps := self._read_alike(log, opened, at)):
                    at, opened = at + steps * (at - opened), at + (steps - 1) * (at - opened)
                opened = at

    def _next_step(self, ns: int, *, from_fetch: bool = False) -> None:
        self._opened = True
        super()._next_step(ns, from_fetch=from_fetch)

    def _read_alike(self, log: Log, last: int, at: int) -> int:
        """How many steps like the one between `last` and `at` follow: they have been read."""
        marks = at - last
        if marks > MOST_MARKS or log.what[last:at] != log.what[at : at + marks]:
            return 0
        steps = _alike(log, last, at)
        room = MAX_PENDING - len(self._pending) - self._more_pending
        if steps < LEAST_STEPS or steps > room:
            return 0
        recipe = self._recipe(log, last, at)
        if recipe is None or recipe.situation != _situation(self, _number(log, last, at)):
            return 0
        self._read_columns(Log(*(column[at - 1 : at + steps * marks] for column in log)), recipe, steps, marks)
        return steps

    def _recipe(self, log: Log, last: int, at: int) -> Recipe | None:
        number = _number(log, last, at) or 0
        pattern = tuple(
            (what, detail - number if what == BEGIN else detail if what in _SAME else None)
            for what, detail in zip(log.what[last:at], log.detail[last:at], strict=True)
        )
        if pattern not in self._recipes:
            if len(self._recipes) >= MOST_PATTERNS:
                self._recipes.clear()
            self._recipes[pattern] = _recipe_of(self.way, pattern)
        return self._recipes[pattern]

    def _read_columns(self, log: Log, recipe: Recipe, steps: int, marks: int) -> None:
        """`log` begins with the mark that opened the first of them and ends with the one that opens the next."""

        def at(place: int | None) -> tuple[int, ...]:
            return () if place is None else log.ns[place::marks][:steps]

        def told(place: int | None) -> Sequence[Any]:
            return (None,) * steps if place is None else log.detail[place::marks][:steps]

        spent: dict[int, Column] = {}
        for category, from_place, to_place in recipe.spans:
            took = list(map(sub, at(to_place), at(from_place)))
            spent[category] = took if category not in spent else list(map(sum, zip(spent[category], took, strict=True)))
        nothing = (0,) * steps
        step = recipe.step
        run = UsualSteps(
            first_ns=at(0),
            called_ns=None if step.called_ns is None else at(step.called_ns),
            end_ns=at(step.end_ns),
            wall_ns=list(map(sub, at(marks), at(0))),
            wait_ns=spent.get(INPUT, nothing),
            copy_ns=spent.get(H2D, nothing),
            compute_ns=spent.get(COMPUTE, nothing),
            fetches=[(at(asked), at(got), told(place)) for asked, got, place in step.fetches],
            samples=told(step.samples),
            call=(self._epoch, self._batch),
        )
        self._pending.append(run)
        self._more_pending += steps - 1
        self._note_categories(run)
        if len(self._spent) > FIRST_NAMED:
            self._add_named_columns(spent)
        self._first_ns = self._last_ns = log.ns[-1]
        self._called_ns = None if self._called_ns is None else log.ns[-1]
        self._batch += steps * recipe.numbered
        self._asked_ns = self._asked_ns if recipe.asked is None else at(recipe.asked)[-1]
        self._end_ns = self._end_ns if recipe.ended is None else at(recipe.ended)[-1]

    def _note_categories(self, run: UsualSteps) -> None:
        if run.fetches or any(run.wait_ns):
            self._seen.add(INPUT)
        if any(run.copy_ns):
            self._seen.add(H2D)
        if any(run.compute_ns):
            self._seen.add(COMPUTE)

    def _add_named_columns(self, spent: dict[int, Column]) -> None:
        self._add_named([0] * len(self._spent))  # makes room
        for category, took in spent.items():
            self.totals_ns[category] += sum(took)
            self.largest_ns[category] = max(self.largest_ns[category], *took)
            self._squares[category] += sum(map(mul, took, took))

    # -- what becomes known later ----------------------------------------------------------------

    def _wait(self, entry: Any) -> None:
        if self._more_pending and len(self._pending) + self._more_pending >= MAX_PENDING:
            one_by_one: deque[Any] = deque()
            for each in self._pending:
                one_by_one.extend(each.singly() if isinstance(each, UsualSteps) else (each,))
            self._pending, self._more_pending = one_by_one, 0
        super()._wait(entry)

    def _next_item(self) -> Sequence[Item] | None:
        run = self._pending[0]
        if not isinstance(run, UsualSteps):
            return super()._next_item()
        self._pending.popleft()
        steps = len(run.first_ns)
        self._more_pending -= steps - 1
        if not self._stamped or run.called_ns is None or run.fetches:
            return self._records(run, steps, run.wait_ns, run.compute_ns, _samples_of(run, self.samples_per_batch))
        known = _stamped(run, self._rows)
        if known < steps:
            self._put_back(run.part(known))
        if not known:
            return super()._next_item()
        asked, got, samples = zip(*(self._rows.popleft() for _ in range(known)), strict=True)
        wait_ns = list(map(sub, got, asked))
        compute_ns = [max(0, each) for each in map(sub, run.compute_ns, wait_ns)]
        return self._records(run, known, wait_ns, compute_ns, _or(samples, self.samples_per_batch))

    def _put_back(self, run: UsualSteps) -> None:
        """Its first step is an unusual one after all."""
        rest = len(run.first_ns) - 1
        if rest:
            self._pending.appendleft(run.part(1))
            self._more_pending += rest - 1
        self._pending.extendleft(run.part(0, 1).singly())

    def _records(
        self, run: UsualSteps, steps: int, wait_ns: Column, compute_ns: Column, samples: Sequence[int | None]
    ) -> list[Item]:
        """The first so many of them, as StepReader._record makes one."""
        calls, seen, unknown = run.called_ns is not None, self._seen, repeat(None)
        batches = len(run.fetches) or 1
        each, before = batches if calls else 1, self.steps
        self.steps += steps * each
        self.calls += steps
        wall_ns = run.wall_ns if min(run.wall_ns) > 0 else [max(1, wall) for wall in run.wall_ns]
        columns = zip(
            range(before + each, self.steps + 1, each),
            wall_ns,
            wait_ns if calls or INPUT in seen else unknown,
            run.copy_ns if H2D in seen else unknown,
            compute_ns if calls or COMPUTE in seen else unknown,
            repeat(batches),
            samples,
            unknown,
            unknown,
            repeat(StepKind.STEADY),
            run.first_ns,
        )
        return list(map(_record, columns))


# -- where steps are alike -------------------------------------------------------------------------


def _alike(log: Log, last: int, at: int) -> int:
    """How many steps with the marks of the one between `last` and `at` follow, by a clock that goes forward."""
    marks = at - last
    steps = min(MOST_STEPS, (len(log.ns) - at) // marks)
    end = at + steps * marks
    steps = _agreeing(log.what[at:end], log.what[last : end - marks]) // marks
    for place in range(at, at + marks):
        what, detail, column = log.what[place], log.detail[place - marks], log.detail[place::marks][:steps]
        if what == BEGIN:
            steps = _agreeing(column, tuple(range(detail + 1, detail + 1 + steps)))
        elif what in _SAME and detail not in _ASIDE:
            steps = _agreeing(column, (detail,) * steps)
        elif what not in _FREE:
            return 0
    end = at + steps * marks
    times = log.ns[at - 1 : end]
    steps = _first(map(gt, times, times[1:]), steps * marks) // marks
    return steps if steps and times[steps * marks] - times[0] <= MAX_SPAN_NS else 0


def _agreeing(found: tuple[Any, ...], expected: tuple[Any, ...]) -> int:
    """From the beginning on; both are of one length."""
    return len(found) if found == expected else _first(map(ne, found, expected), len(found))


def _first(flags: Iterable[bool], otherwise: int) -> int:
    """The place of the first one that is true."""
    return next(compress(count(), flags), otherwise)


def _number(log: Log, last: int, at: int) -> int | None:
    """Of the first call that begins there."""
    return next((log.detail[place] for place in range(last, at) if log.what[place] == BEGIN), None)


def _situation(reader: StepReader, number: int | None) -> tuple[Any, ...]:
    """All that decides what the engine does with the marks of a step which has just been opened."""
    return (
        reader._open,
        reader._started,
        reader._trained,
        reader._called_ns is None,
        reader._wall_at_end_ns is None,
        reader._from_fetch,
        reader._traced,
        reader._profiled,
        reader._aside,
        reader._current,
        tuple(reader._stack),
        None if number is None else reader._batch - number,
    )


# -- how the engine makes a step of its marks ------------------------------------------------------


class _Places(StepReader):
    """The engine, with a note of where each span that it settles begins and ends."""

    def __init__(self, way: Way) -> None:
        super().__init__(way.batches_per_call, ends=way.ends, stamped=way.stamped, device=way.device)
        self.spans: list[Span] = []
        self._noted = 0

    def _enter(self, ns: int, category: int) -> None:
        current = self._current
        super()._enter(ns, category)
        self._note(current)

    def _leave(self, ns: int, category: int) -> None:
        current = self._current
        super()._leave(ns, category)
        self._note(current)

    def _settle(self, ns: int, category: int) -> None:
        super()._settle(ns, category)
        self._note(category)

    def _note(self, category: int) -> None:
        if self._last_ns > self._noted:
            self.spans.append(Span(category, self._noted, self._last_ns))
        self._noted = self._last_ns

    def _is_plain(self) -> bool:
        return False


def _recipe_of(way: Way, pattern: tuple[tuple[int, Any], ...]) -> Recipe | None:
    """None: the engine cannot make a step of these marks alone, or drops some of them."""
    reader, marks = _Places(way), len(pattern)
    numbered = any(what == BEGIN for what, _ in pattern)
    step = [(place, what, _told(what, detail, place)) for place, (what, detail) in enumerate(pattern, 1)]
    reader._take([(0, pattern[-1][0], step[-1][2])])
    reader._take(_moved(step, 0, 1))
    before, ended, asked = _situation(reader, 1 if numbered else None), reader._end_ns, reader._asked_ns
    reader.spans.clear()
    reader._pending.clear()
    reader._take(_moved(step, marks, 2))
    if before != _situation(reader, 2 if numbered else None) or reader.dropped or reader.partial:
        return None
    if len(reader._pending) != 1 or not isinstance(reader._pending[0], Closed):
        return None
    made = reader._pending[0]
    if made.called_ns is not None and len(made.fetches) != (0 if way.stamped else 1):
        return None
    return Recipe(
        before,
        [Span(category, begin - marks, end - marks) for category, begin, end in reader.spans],
        made._replace(
            called_ns=None if made.called_ns is None else made.called_ns - marks,
            end_ns=made.end_ns - marks,
            fetches=[Fetch(asked - marks, got - marks, place) for asked, got, place in made.fetches],
        ),
        None if reader._asked_ns == asked else reader._asked_ns - marks,
        None if reader._end_ns == ended else reader._end_ns - marks,
        numbered,
    )


def _told(what: int, detail: Any, place: int) -> Any:
    """A figure is told by its place."""
    return place if what in _FREE else detail


def _moved(step: list[Mark], places: int, number: int) -> list[Mark]:
    """The same step later on, with a call of that number."""
    return [(at + places, what, detail + number if what == BEGIN else detail) for at, what, detail in step]


# -- late parts ------------------------------------------------------------------------------------


def _stamped(run: UsualSteps, rows: "deque[Fetch]") -> int:
    """How many of the steps, from the first one on, have exactly one stamped fetch, and that inside their call."""
    assert run.called_ns is not None
    steps = min(len(run.first_ns), len(rows))
    if not steps:
        return 0
    fetched = list(islice(rows, steps + 1))
    asked, got, _ = zip(*fetched, strict=True)
    steps = _first(map(lt, asked, run.called_ns), steps)
    steps = min(steps, _first(map(gt, got, run.end_ns), steps), _first(map(le, run.end_ns, asked), steps))
    # The fetch behind the last one must not be of the same call.
    return steps - 1 if steps and len(asked) > steps and asked[steps] < run.end_ns[steps - 1] else steps


def _samples_of(run: UsualSteps, per_batch: int | None) -> Sequence[int | None]:
    if run.called_ns is not None:
        return _or(run.fetches[0][2], per_batch)
    batches = len(run.fetches) or 1
    if batches == 1:
        return run.samples
    return [None if samples is None else samples * batches for samples in run.samples]


def _or(known: Sequence[int | None], otherwise: int | None) -> Sequence[int | None]:
    """Where one does not tell."""
    return [otherwise if each is None else each for each in known] if None in known else known
