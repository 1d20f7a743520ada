"""`next()` timed in Python, on a clock by hand; and a simulated device that works behind the host's back."""

import pytest

pytest.importorskip("keras")
pytest.importorskip("torch")

from feedwatch.guard import Guard
from feedwatch.hooks.keras.python_iterator import SAMPLE_EVERY, DeviceSteps, PythonFetches
from feedwatch.hooks.torch.device import DeviceMeter
from feedwatch.measure.clock import SYSTEM_CLOCK
from feedwatch.measure.marks import BEGIN, ENTER, EPOCH, EPOCH_END, GOT, INPUT, Marks
from feedwatch.measure.steps import Ends, StepReader
from feedwatch.model.steps import StepRecord
from tests.fakes.clock import FakeClock

MS = 1_000_000


class Batch:
    shape = (16, 3)


@pytest.fixture
def clock():
    return FakeClock(0)


def batches(clock, count, error=None):
    for _ in range(count):
        clock.advance_ms(3)
        yield (Batch(), Batch())
    if error is not None:
        raise error


def test_a_fetch_is_two_marks_and_tells_its_samples(clock):
    log = []
    fetches = PythonFetches(log.append, clock.now_ns)
    assert len(list(fetches.wrap(batches(clock, 2)))) == 2
    assert log == [
        (0, ENTER, INPUT),
        (3 * MS, GOT, 16),
        (3 * MS, ENTER, INPUT),
        (6 * MS, GOT, 16),
        (6 * MS, ENTER, INPUT),
    ]
    assert fetches.mean_ms() == 3.0


def test_the_users_error_is_told_and_passes_as_it_is(clock):
    error, told = ValueError("the user's own"), []
    fetches = PythonFetches([].append, clock.now_ns)
    fetches.on_error = told.append
    with pytest.raises(ValueError, match="own") as raised:
        list(fetches.wrap(batches(clock, 1, error)))
    assert raised.value is error
    assert told == [error]


def test_the_first_batch_is_shown_once_and_a_look_that_fails_harms_nobody(clock, monkeypatch):
    monkeypatch.setenv("FEEDWATCH_STRICT", "")
    seen = []

    def show(batch):
        seen.append(batch)
        raise ZeroDivisionError

    fetches = PythonFetches([].append, clock.now_ns)
    fetches.on_first_batch = show
    with pytest.warns(UserWarning, match="the look at the first batch"):
        assert len(list(fetches.wrap(batches(clock, 3)))) == 3
    assert len(seen) == 1


def test_one_fetch_in_seven_is_looked_at_closer(clock):
    class Closer:
        before, after = 0, ()

        def before_fetch(self):
            self.before += 1

        def after_fetch(self, wait_ns):
            self.after = (*self.after, wait_ns)

    fetches = PythonFetches([].append, clock.now_ns)
    fetches.closer = Closer()
    list(fetches.wrap(batches(clock, 2 * SAMPLE_EVERY)))
    assert fetches.closer.after == (3 * MS, 3 * MS)


def test_an_iterator_that_outlives_its_run_appends_to_nothing(clock):
    log = []
    fetches = PythonFetches(log.append, clock.now_ns)
    iterator = fetches.wrap(batches(clock, 2))
    fetches.close()
    assert len(list(iterator)) == 2
    assert log == []


def test_attributes_are_the_iterators_own(clock):
    assert PythonFetches([].append, clock.now_ns).wrap(batches(clock, 1)).gi_frame is not None


# -- torch on a device with a clock of its own ------------------------------------------------------


class Device:
    """One stream. An event's time is the later of its enqueueing and the end of all earlier work."""

    def __init__(self):
        self.host_ns = 0
        self.free_ns = 0

    def work(self, duration_ms):
        self.free_ns = max(self.free_ns, self.host_ns) + duration_ms * MS

    def new(self):
        return [0]

    def record(self, event):
        event[0] = max(self.free_ns, self.host_ns)

    def done(self, event):
        return event[0] <= self.host_ns

    def elapsed_ns(self, earlier, later):
        return later[0] - earlier[0]

    def capturing(self):
        return False


class Loop:
    """What Keras' loop on torch does, as far as its hooks and its iterator see it."""

    def __init__(self):
        self.device = Device()
        self.marks = Marks(1_000_000_000, SYSTEM_CLOCK)
        raw = self.marks.append
        meter = DeviceMeter(self.device, raw, lambda: self.device.host_ns)
        self.steps = DeviceSteps(meter, self.marks, Guard("the Keras hook"))
        self.raw = raw
        raw((0, EPOCH, (0, 0)))

    def fetch(self, input_ms):
        self.raw((self.device.host_ns, ENTER, INPUT))
        self.steps.asked(self.device.host_ns)
        self.device.host_ns += round(input_ms * MS)
        self.raw((self.device.host_ns, GOT, 8))
        self.steps.got(self.device.host_ns)

    def step(self, batch, input_ms, compute_ms):
        self.fetch(input_ms)
        self.marks.append((self.device.host_ns, BEGIN, batch))
        self.device.work(compute_ms)
        self.device.host_ns += MS // 10  # launching takes no time worth naming

    def records(self, *, wait_for_device=True):
        self.steps.pause(self.device.host_ns)
        self.raw((self.device.host_ns, EPOCH_END, None))
        if wait_for_device:
            self.device.host_ns = self.device.free_ns + MS
        self.steps.close(self.device.host_ns)
        reader = StepReader(ends=Ends.NEXT, device=True)
        items = [*reader.read(self.marks.take().marks), *reader.finish()]
        return [item for item in items if isinstance(item, StepRecord)], reader


def run(input_ms, compute_ms, steps=20):
    loop = Loop()
    for batch in range(steps):
        loop.step(batch, input_ms, compute_ms)
    return loop.records()


def test_a_device_that_still_computes_is_not_starved_however_long_the_host_waits():
    records, _ = run(input_ms=8, compute_ms=20)
    assert {record.starved_ns for record in records[2:]} == {0}
    assert {record.host_wait_ns for record in records[2:]} == {8 * MS}
    assert records[5].compute_ns == 20 * MS


def test_a_device_that_runs_dry_is_starved():
    records, reader = run(input_ms=30, compute_ms=10)
    for record in records[2:]:
        assert record.starved_ns == record.input_wait_ns == pytest.approx(20.1 * MS, rel=0.01)
        assert record.compute_ns == pytest.approx(10 * MS, rel=0.02)
    assert reader.dropped == 0
    assert [record.step for record in records] == list(range(1, 21))
    assert {record.samples for record in records} == {8}


def test_the_search_for_more_data_is_no_step():
    loop = Loop()
    for batch in range(3):
        loop.step(batch, 5, 10)
    loop.fetch(5)  # the data has ended
    records, reader = loop.records()
    assert len(records) == 3
    assert reader.dropped == 0


def test_what_the_device_has_not_passed_at_the_end_is_dropped_and_counted():
    loop = Loop()
    loop.step(0, 1, 1000)
    records, reader = loop.records(wait_for_device=False)
    assert records == []
    assert reader.dropped == 1
