"""A monitor must not hide the user's own curves: TensorBoard's Python reader stops at a second event file."""

import subprocess
import sys
from pathlib import Path

import pytest
from werkzeug.test import Client

from .tensorboards import wait_for_runs, wsgi

LIGHTNING = """
import sys, torch, lightning as L
from lightning.pytorch.loggers import TensorBoardLogger
from torch.utils.data import DataLoader, TensorDataset
from feedwatch.lightning import FeedWatch

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, i):
        loss = self.layer(batch[0]).square().mean()
        self.log("loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)

trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=TensorBoardLogger(sys.argv[1], name="", version="mine"),
    log_every_n_steps=1, callbacks=[FeedWatch(console=False)], enable_progress_bar=False, enable_model_summary=False,
    enable_checkpointing=False)
trainer.fit(Model(), DataLoader(TensorDataset(torch.randn(160, 4)), batch_size=8))
"""

KERAS = """
import sys, numpy as np, keras
from feedwatch.keras import FeedWatch

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
both = [keras.callbacks.TensorBoard(sys.argv[1] + "/mine", update_freq=1), FeedWatch(console=False)]
if sys.argv[2] == "FeedWatch first":
    both.reverse()
model.fit(np.random.rand(160, 4), np.random.rand(160, 1), batch_size=8, epochs=2, verbose=0, callbacks=both)
"""


def train(script: str, *arguments: str) -> None:
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, cwd=arguments[0])
    assert done.returncode == 0, done.stderr[-3000:]


def steps_of(client: Client, run: str, tag: str) -> list[int]:
    answer = client.get("/data/plugin/scalars/scalars", query_string={"run": run, "tag": tag})
    return [step for _, step, _ in answer.get_json()]


def assert_no_directory_has_two_event_files(logdir: Path) -> None:
    directories = [path.parent for path in logdir.rglob("events.out.tfevents*")]
    assert len(directories) == len(set(directories))


@pytest.mark.slow
def test_a_lightning_loggers_loss_curve_stays_whole(tmp_path):
    train(LIGHTNING, str(tmp_path))
    assert_no_directory_has_two_event_files(tmp_path)
    client = Client(wsgi(tmp_path, "python"))
    assert [row["run"] for row in wait_for_runs(client, 1)] == ["mine"]
    assert steps_of(client, "mine", "loss") == list(range(40))
    assert steps_of(client, "mine", "feedwatch/step_ms")


@pytest.mark.slow
@pytest.mark.parametrize("order", ["TensorBoard first", "FeedWatch first"])
def test_a_keras_callbacks_loss_curve_stays_whole(tmp_path, order):
    train(KERAS, str(tmp_path), order)
    assert_no_directory_has_two_event_files(tmp_path)
    client = Client(wsgi(tmp_path, "python"))
    rows = wait_for_runs(client, 1)
    assert [row["run"] for row in rows] == ["mine/train"]
    assert steps_of(client, "mine/train", "batch_loss") == list(range(1, 41))  # Keras counts from 1
    assert len(steps_of(client, "mine/train", "epoch_loss")) == 2
    assert steps_of(client, "mine/train", "feedwatch/step_ms")
    assert rows[0]["status"] == "finished"
