import contextlib
import resource
import signal

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.summary_pb2 import Summary

from feedwatch.report.load import load_run
from feedwatch.report.markdown import render_markdown
from feedwatch.report.scalars import DESCRIPTIONS, scalars
from feedwatch.report.tensorboard import ADVICE_TAG, REPORT_TAG, EventFile, own_run, read_records
from tests.fakes.reports import course, report


def written(directory):
    output = own_run(directory)
    value = report()
    output.scalars(10, scalars(course().run(), value.self_cost), 100.0)
    output.scalars(20, scalars(course().run(), value.self_cost), 101.0)
    output.advice(20, render_markdown(value), 101.0)
    output.report(20, value, 101.0)
    output.close()
    return value


def records_of(path):
    with path.open("rb") as file:
        return list(read_records(file))


def test_tensorboards_own_reader_reads_every_scalar_with_its_description(tmp_path):
    written(tmp_path)
    reader = EventAccumulator(str(tmp_path))
    reader.Reload()
    tags = reader.Tags()
    names = {*tags["scalars"], *tags["tensors"]}
    assert names >= set(DESCRIPTIONS) - {"feedwatch/h2d_ms"}
    assert "feedwatch/h2d_ms" not in names  # not measured: no point, never 0
    assert reader.SummaryMetadata("feedwatch/stall_ratio").summary_description == DESCRIPTIONS["feedwatch/stall_ratio"]


def test_the_report_and_the_advice_are_there(tmp_path):
    value = written(tmp_path)
    reader = EventAccumulator(str(tmp_path))
    reader.Reload()
    assert {REPORT_TAG, ADVICE_TAG} <= set(reader.Tags()["tensors"])
    assert reader.SummaryMetadata(REPORT_TAG).plugin_data.plugin_name == "feedwatch"
    assert load_run(tmp_path) == value


def test_every_window_is_one_event(tmp_path):
    written(tmp_path)
    (file,) = tmp_path.iterdir()
    assert len(records_of(file)) == 5  # version, two windows, advice, report


def test_an_old_file_is_never_appended_to(tmp_path):
    written(tmp_path)
    written(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_broken_tail_hides_only_what_stands_behind_it(tmp_path):
    value = written(tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:37])
    assert load_run(tmp_path) == value
    file.write_bytes(whole[:-9])
    assert len(records_of(file)) == 4


@contextlib.contextmanager
def small_files():
    """A file size limit is a full disk. Only around the writes: it holds for the file that pytest prints into, too."""
    old_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, old_limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        signal.signal(signal.SIGXFSZ, old_handler)


def test_a_full_disk_leaves_whole_records_and_writing_goes_on_when_there_is_room(tmp_path):
    file = EventFile(tmp_path)
    summary = Summary(value=[Summary.Value(tag="t" * 200, simple_value=1.0)])
    failures = 0
    with small_files():
        for step in range(20):
            try:
                file.write(step, summary, 1.0)
            except OSError:
                failures += 1
    assert failures > 5
    file.write(99, summary, 1.0)
    file.close()
    records = records_of(file.path)
    assert len(records) == 1 + (20 - failures) + 1
    reader = EventAccumulator(str(tmp_path))
    reader.Reload()
    assert [event.step for event in reader.Scalars("t" * 200)][-1] == 99


def test_a_full_disk_leaves_no_torn_record_also_where_nothing_more_is_written(tmp_path):
    file = EventFile(tmp_path)
    with small_files():
        for step in range(20):
            with contextlib.suppress(OSError):
                file.write(step, Summary(value=[Summary.Value(tag="t" * 200, simple_value=1.0)]), 1.0)
        file.close()
    framed_bytes = [16 + len(record) for record in records_of(file.path)]
    assert len(framed_bytes) > 2
    assert sum(framed_bytes) == file.path.stat().st_size
