import threading
import time

import lightning.pytorch as pl
import pytest
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

from feedwatch.guard import Guard
from feedwatch.hooks.lightning import loggers
from feedwatch.hooks.lightning.loggers import (
    OUTBOX_ROWS,
    MetricsOutput,
    attach_html,
    choose_destination,
    outboxes_of,
    tensorboard_output,
)
from tests.fakes.reports import report


def trainer(tmp_path, logger, **more):
    return pl.Trainer(
        accelerator="cpu",
        logger=logger,
        default_root_dir=tmp_path,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **more,
    )


def test_an_explicit_directory_comes_first(tmp_path):
    place = choose_destination(trainer(tmp_path, CSVLogger(tmp_path)), tmp_path / "mine")
    assert place.directory == tmp_path / "mine" / "feedwatch"
    assert outboxes_of(place) == ()
    assert len(place.outputs) == 1


def test_a_csv_logger_gets_scalars_beside_a_run_of_our_own(tmp_path):
    logger = CSVLogger(tmp_path, name="runs", version=3)
    place = choose_destination(trainer(tmp_path, logger), None)
    assert place.directory == tmp_path / "runs" / "version_3" / "feedwatch"
    assert len(place.outputs) == 2
    assert len(outboxes_of(place)) == 1


def test_the_writer_of_a_tensorboard_logger_is_used_and_no_second_file_made(tmp_path):
    logger = TensorBoardLogger(tmp_path)
    place = choose_destination(trainer(tmp_path, [CSVLogger(tmp_path / "csv"), logger]), None)
    assert str(place.directory.parent) == str(logger.log_dir)
    assert len(place.outputs) == 2  # its writer, and the CSV logger's outbox
    assert len(outboxes_of(place)) == 1


def test_without_a_logger_the_trainers_root_directory_is_used(tmp_path):
    assert choose_destination(trainer(tmp_path, logger=False), None).directory == tmp_path / "feedwatch"


def test_other_ranks_write_their_report_file_only(tmp_path):
    class SecondRank:
        global_rank, world_size, loggers, default_root_dir = 1, 1, (), str(tmp_path)

    place = choose_destination(SecondRank(), None)
    assert (place.directory, place.outputs) == (tmp_path / "feedwatch", ())


def test_what_is_no_tensorboard_logger_has_no_writer(tmp_path):
    assert tensorboard_output(CSVLogger(tmp_path)) is None


class Kept:
    def __init__(self):
        self.rows = []

    def log_metrics(self, metrics, step):
        self.rows.append((step, metrics))


class MLFlowLogger(Kept):
    """Known by its name: the real one needs a server."""


def test_a_logger_is_called_by_the_training_thread_when_it_drains():
    logger = Kept()
    output = MetricsOutput(logger)
    output.scalars(7, {"feedwatch/step_ms": 2.0}, 0.0)
    assert logger.rows == []
    output.drain()
    assert logger.rows == [(7, {"feedwatch/step_ms": 2.0})]


def test_a_client_that_queues_by_itself_is_called_where_the_figures_are():
    logger = MLFlowLogger()
    MetricsOutput(logger).scalars(7, {"feedwatch/step_ms": 2.0}, 0.0)
    assert logger.rows == [(7, {"feedwatch/step_ms": 2.0})]


def test_rows_that_nobody_takes_are_bounded():
    output = MetricsOutput(Kept())
    for step in range(3 * OUTBOX_ROWS):
        output.scalars(step, {}, 0.0)
    assert [step for step, _ in output.rows][:1] == [2 * OUTBOX_ROWS]


class CometLogger:
    def __init__(self):
        self.experiment, self.sent = self, []

    def log_asset(self, path, file_name):
        self.sent.append((path, file_name))


def test_a_tracker_that_takes_files_gets_the_report(tmp_path):
    tracker = CometLogger()
    attach_html([CSVLogger(tmp_path), tracker], report(), tmp_path, Guard("test"), 20.0)
    assert tracker.sent == [(str(tmp_path / "report.html"), "feedwatch/report.html")]
    assert "<html" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("stalls", ["disk", "server"])
def test_neither_a_disk_nor_a_server_that_stalls_holds_up_the_end(tmp_path, monkeypatch, stalls):
    goes_on, tracker = threading.Event(), CometLogger()
    if stalls == "disk":
        monkeypatch.setattr(loggers, "replace_file", lambda *_: goes_on.wait(60))
    else:
        tracker.log_asset = lambda *_, **__: goes_on.wait(60)
    began = time.monotonic()
    attach_html([tracker], report(), tmp_path, Guard("test"), 0.1)
    assert time.monotonic() - began < 20
    goes_on.set()


@pytest.mark.parametrize("logger", [None, object()])
def test_without_such_a_tracker_no_file_is_written(logger, tmp_path):
    attach_html([logger], report(), tmp_path, Guard("test"), 20.0)
    assert list(tmp_path.iterdir()) == []
