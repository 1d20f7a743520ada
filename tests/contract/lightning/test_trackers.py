"""Trackers that take files get the HTML report. Skipped where they are not installed."""

import pytest

from feedwatch.lightning import FeedWatch
from tests.contract.lightning.test_where_it_goes import fit


def test_mlflow_gets_the_scalars_and_the_html_report(tmp_path, pl, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    logger = pl.loggers.MLFlowLogger("feedwatch", tracking_uri=f"file:{tmp_path / 'mlruns'}")
    fit(pl, FeedWatch(console=False), tmp_path, logger=logger, log_every_n_steps=1)

    metrics = logger.experiment.get_run(logger.run_id).data.metrics
    assert "feedwatch/step_ms" in metrics
    files = logger.experiment.list_artifacts(logger.run_id, "feedwatch")
    assert [each.path for each in files] == ["feedwatch/report.html"]


def test_wandb_gets_the_scalars_and_the_html_report(tmp_path, pl, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    logger = pl.loggers.WandbLogger(save_dir=tmp_path, offline=True)
    watch = FeedWatch(console=False)
    fit(pl, watch, tmp_path, logger=logger, log_every_n_steps=1)

    assert (watch.log_dir / "report.html").stat().st_size > 10_000
    assert "feedwatch/step_ms" in dict(logger.experiment.summary)
    logger.experiment.finish()
