"""Steps that are read by columns are those that the engine makes mark by mark."""

import gzip
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.measure import usual_steps
from feedwatch.measure.marks import (
    ABANDON,
    BEGIN,
    COMPUTE,
    END,
    ENTER,
    EPOCH,
    EPOCH_END,
    FIRST_NAMED,
    GOT,
    H2D,
    INPUT,
    LEAVE,
    OTHER,
    PROFILED,
    TRACED,
    TRAINED,
    VALIDATION,
    WAS,
    Fetch,
)
from feedwatch.measure.steps import MAX_SPAN_NS, Ends, StepReader
from feedwatch.measure.usual_steps import LEAST_STEPS, ColumnReader, UsualSteps
from tests.unit.measure.test_steps import ANY_MARK, FIRST_ENGINE, as_marks

# The marks of one step: what, and a category; None: a figure.
LOOP = [(ENTER, INPUT), (GOT, None), (BEGIN, None)]
COPYING_LOOP = [*LOOP, (ENTER, H2D), (LEAVE, H2D)]
ZIPPED_LOOP = [*LOOP, (WAS, COMPUTE), (WAS, INPUT)]
LIGHTNING = [
    (ENTER, INPUT), (GOT, None), (ENTER, H2D), (LEAVE, H2D), (ENTER, COMPUTE), (ENTER, FIRST_NAMED), (LEAVE, FIRST_NAMED),
    (LEAVE, COMPUTE), (TRAINED, None), (ENTER, FIRST_NAMED + 2), (LEAVE, FIRST_NAMED + 2),
]  # fmt: skip
TWO_FETCHES = [
    (ENTER, INPUT),
    (GOT, None),
    (ENTER, INPUT),
    (GOT, None),
    (ENTER, COMPUTE),
    (LEAVE, COMPUTE),
    (TRAINED, None),
]
SELF_FETCHING = [(ENTER, COMPUTE), (ENTER, INPUT), (GOT, None), (LEAVE, COMPUTE), (TRAINED, None)]
KERAS = [(BEGIN, None), (END, None)]
KERAS_CALLBACKS = [(WAS, FIRST_NAMED), (BEGIN, None), (WAS, FIRST_NAMED + 1), (END, None)]
KERAS_TWICE = [(BEGIN, None), (BEGIN, None), (END, None), (END, None)]
UNPAIRED = [(ENTER, INPUT), (GOT, None), (LEAVE, H2D), (ENTER, COMPUTE), (LEAVE, COMPUTE), (TRAINED, None)]
SHAPES = [
    LOOP, COPYING_LOOP, ZIPPED_LOOP, LIGHTNING, TWO_FETCHES, SELF_FETCHING, KERAS, KERAS_CALLBACKS, KERAS_TWICE, UNPAIRED
]  # fmt: skip
INTERRUPTIONS = [
    [(TRACED, None)], [(PROFILED, None)], [(ABANDON, None)], [(WAS, OTHER)], [(LEAVE, COMPUTE)],
    [(ENTER, VALIDATION), (LEAVE, VALIDATION)], [(EPOCH_END, None)],
    [(EPOCH_END, None), (ENTER, VALIDATION), (LEAVE, VALIDATION), (EPOCH, None)],
]  # fmt: skip


class Script:
    """Writes logs: stretches of steps with something in between now and then, and the fetches that a graph stamps."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ns, self.number, self.epoch = 1000, 0, 0
        self.marks, self.rows = [], []
        self.begun_ns = None

    def add(self, marks, quiet=0.98):
        for what, category in marks:
            kind = self.random.random()
            self.ns += self.random.randrange(50) if kind < quiet else self.random.choice([0, 1, -40, 900])
            self.marks.append((self.ns, what, self._detail(what, category)))
            self._fetch(what)

    def _detail(self, what, category):
        if what == BEGIN:
            return self.number
        if what == EPOCH:
            self.epoch, self.number = self.epoch + 1, 0
            return (self.epoch, self.random.choice([None, 3]))
        if what in (GOT, TRAINED):
            return self.random.choice([8, 8, 8, None])
        return self.number if what == END else category

    def _fetch(self, what):
        if what == BEGIN:
            self.begun_ns = self.ns
        elif what == END and self.begun_ns is not None and self.random.random() < 0.99:
            early, late = (self.random.choice([0] * 200 + [-7, 9]) for _ in range(2))
            asked = self.begun_ns + early
            self.rows.append(Fetch(asked, max(asked, self.ns + late - 3), self.random.choice([None, 8])))

    def steps(self, shape, count, quiet=0.98):
        for _ in range(count):
            self.add(shape, quiet)
            self.number += quiet == 1.0 or self.random.random() < 0.995


def read(kind, logs, stamped, ends, per_batch, least_ns):
    reader = kind(ends=ends, stamped=stamped)
    reader.samples_per_batch, reader.least_ns = per_batch, least_ns
    items = [item for marks, rows in logs for item in reader.read(marks, rows)]
    items += reader.finish()
    figures = {name: value for name, value in vars(reader).items() if not name.startswith("_")}
    inner = {name: vars(reader)[name] for name in vars(StepReader()) if name not in ("_handlers", *figures)}
    return items, figures, inner, reader.habits()


def cut(marks, rows, draw):
    """Into hand-overs. A fetch comes with the marks of its time, or later."""
    logs, at = [], 0
    while at < len(marks):
        behind = at + draw.choice([1, 7, 60, 400, 3000])
        until_ns = max((ns for ns, _, _ in marks[at:behind]), default=0)
        given = [row for row in rows if row.got_ns <= until_ns + draw.choice([0, 0, -200])]
        rows = rows[len(given) :]
        logs.append((marks[at:behind], given))
        at = behind
    return [*logs, ([], rows)]


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("ends", list(Ends))
@pytest.mark.parametrize("seed", range(25))
def test_logs_of_like_steps_with_anything_between_them_give_what_the_engine_gives(seed, ends, stamped):
    script = Script(seed)
    draw = script.random
    shapes = draw.sample(SHAPES, 2)
    for _ in range(draw.randrange(1, 12)):
        script.steps(draw.choice(shapes), draw.choice([1, 3, 9, 40, 700]))
        script.add(draw.choice(INTERRUPTIONS) if draw.random() < 0.8 else [])
    logs = cut(script.marks, script.rows, draw)
    given = (logs, stamped, ends, draw.choice([None, 16]), draw.choice([0, 0, 60]))
    assert read(ColumnReader, *given) == read(StepReader, *given)


@given(
    st.lists(st.tuples(st.lists(st.tuples(st.integers(-1, 60), ANY_MARK), min_size=1, max_size=6), st.integers(1, 12))),
    st.sampled_from([Ends.MARKED, Ends.NEXT]),
    st.booleans(),
)
def test_whatever_is_repeated_gives_what_the_engine_gives(stretches, ends, stamped):
    marks, ns = [], 100
    for pattern, times in stretches:
        for turn in range(times):
            for delta, (what, detail) in pattern:
                ns += delta
                marks.append((ns, what, detail + turn if what == BEGIN else detail))
    given = ([(marks, [])], stamped, ends, None, 0)
    assert read(ColumnReader, *given) == read(StepReader, *given)


def test_the_logs_of_the_first_engine_give_the_same_steps():
    with gzip.open(FIRST_ENGINE) as file:
        fits = json.load(file)
    for fit in fits:
        marks, rows = as_marks(fit["log"]), [Fetch(*row) for row in fit["rows"]]
        both = []
        for kind in (ColumnReader, StepReader):
            reader = kind(fit["per_call"], stamped=True)
            both.append([*reader.read(marks, rows), *reader.finish()])
        assert both[0] == both[1]


# -- that anything is read by columns at all ---------------------------------------------------------


@pytest.fixture
def by_columns(monkeypatch):
    found = []
    made = UsualSteps.__new__

    def counted(kind, *parts, **named):
        run = made(kind, *parts, **named)
        found.append(len(run.first_ns))
        return run

    monkeypatch.setattr(usual_steps.UsualSteps, "__new__", counted)
    return found


@pytest.mark.parametrize("shape", [each for each in SHAPES if each is not UNPAIRED])
def test_steps_of_every_hook_are_read_by_columns(shape, by_columns):
    script = Script(1)
    script.steps(shape, 200, quiet=1.0)
    stamped = (END, None) in shape
    reader = ColumnReader(ends=Ends.NEXT if shape[:3] == LOOP else Ends.MARKED, stamped=stamped)
    steps = list(reader.read(script.marks, script.rows))
    assert len(steps) == 199
    assert sum(by_columns) > 190


def test_a_span_that_no_step_can_have_is_left_to_the_engine(by_columns):
    script = Script(1)
    script.steps(LOOP, 50, quiet=1.0)
    script.ns += MAX_SPAN_NS + 1
    script.steps(LOOP, 50, quiet=1.0)
    reader = ColumnReader(ends=Ends.NEXT)
    walls = [step.wall_ns for step in reader.read(script.marks)]
    assert max(walls) <= MAX_SPAN_NS
    assert reader.dropped == 1
    assert by_columns


def test_a_few_like_steps_are_not_worth_looking_for(by_columns):
    script = Script(1)
    script.steps(LOOP, LEAST_STEPS, quiet=1.0)
    list(ColumnReader(ends=Ends.NEXT).read(script.marks))
    assert not by_columns
