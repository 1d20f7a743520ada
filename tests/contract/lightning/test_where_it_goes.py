"""Explicit directory › the user's TensorBoard writer › a run of our own; other loggers get the scalars."""

import json

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from feedwatch.lightning import FeedWatch
from tests.contract.lightning.models import loader, variant


def fit(pl, watch, directory, **more):
    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=2,
        callbacks=[watch],
        default_root_dir=directory,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        **more,
    )
    trainer.fit(variant(pl), loader(64))
    return trainer


def event_files(directory):
    return sorted(path.parent.relative_to(directory) for path in directory.rglob("events.out.*"))


def scalars(directory):
    events = EventAccumulator(str(directory))
    events.Reload()
    return set(events.Tags()["scalars"]) | set(events.Tags()["tensors"])


def test_an_explicit_directory_gets_a_run_of_our_own(tmp_path, pl):
    watch = FeedWatch(tmp_path / "runs", console=False)
    fit(pl, watch, tmp_path / "root", logger=False)

    assert watch.log_dir == tmp_path / "runs" / "feedwatch"
    assert json.loads((watch.log_dir / "report.json").read_text())["status"] == "finished"
    assert "feedwatch/report" in scalars(watch.log_dir)


def test_the_tensorboard_logger_gets_everything_in_its_own_file(tmp_path, pl):
    watch = FeedWatch(console=False)
    logger = pl.loggers.TensorBoardLogger(tmp_path)
    fit(pl, watch, tmp_path, logger=logger, log_every_n_steps=1)

    assert watch.log_dir.parent.samefile(logger.log_dir)
    assert (watch.log_dir / "report.json").exists()
    assert len(event_files(tmp_path)) == 1  # a second file would freeze the user's curves
    assert {"loss", "feedwatch/report", "feedwatch/step_ms"} <= scalars(logger.log_dir)


def test_another_logger_gets_the_scalars(tmp_path, pl):
    watch = FeedWatch(console=False)
    logger = pl.loggers.CSVLogger(tmp_path)
    fit(pl, watch, tmp_path, logger=logger, log_every_n_steps=1)

    header, *rows = (tmp_path / "lightning_logs" / "version_0" / "metrics.csv").read_text().splitlines()
    assert "feedwatch/step_ms" in header.split(",")
    place = header.split(",").index("feedwatch/step_ms")
    assert any(row.split(",")[place] for row in rows)
    assert watch.log_dir.parent.samefile(logger.log_dir)
    assert "feedwatch/report" in scalars(watch.log_dir)


def test_without_a_logger_it_goes_to_the_root_directory(tmp_path, pl):
    watch = FeedWatch(console=False)
    fit(pl, watch, tmp_path, logger=False)

    assert watch.log_dir == tmp_path / "feedwatch"
    assert "feedwatch/report" in scalars(watch.log_dir)


def test_the_step_axis_is_batches_seen(tmp_path, pl):
    watch = FeedWatch(tmp_path, console=False)
    fit(pl, watch, tmp_path, logger=False, accumulate_grad_batches=4)

    assert watch.report.series.step[-1] == 32
    assert [mark.step for mark in watch.report.series.marks] == [0, 16]


@pytest.mark.parametrize("console", [True, False])
def test_the_verdict_is_printed_only_when_wanted(tmp_path, pl, console, capsys):
    fit(pl, FeedWatch(tmp_path, console=console), tmp_path, logger=False)

    assert ("feedwatch report" in capsys.readouterr().err) == console
