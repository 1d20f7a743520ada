"""`feedwatch try`: real scripts that do not know of us. A trial measures, and nothing of the user's is written."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from feedwatch.model.report import Status
from feedwatch.model.trial import Ended, Outcome, Role
from feedwatch.report.load import load_run

# A trial measures time.
pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]

# Every script would overwrite all of these, and says so where it does.
KEPT = ("model.pt", "model.keras", "log.csv", "best.ckpt", "own.txt", "runs/a/feedwatch/report.json")

DATA = """
import time, torch
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 4000
    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.rand(8), torch.rand(1)
loader = DataLoader(Rows(), batch_size=4, shuffle=True)
"""
TORCH = (
    DATA
    + """
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for number, (x, y) in enumerate(loader):
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % 50 == 0:
            torch.save(model.state_dict(), "model.pt")
print("REACHED")
"""
)
LIGHTNING = (
    DATA
    + """
import lightning.pytorch as pl
class Own(pl.Callback):
    def on_train_epoch_end(self, *_):
        open("own.txt", "w").write("overwritten")
    on_exception = on_train_epoch_end
class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def training_step(self, batch, index):
        loss = (self.layer(batch[0]) - batch[1]).pow(2).mean()
        self.log("loss", loss)
        return loss
    def validation_step(self, batch, index):
        raise AssertionError("a trial does not validate")
    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        return [optimizer], [{"scheduler": torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 60), "interval": "step"}]
trainer = pl.Trainer(
    max_steps=60, limit_train_batches=60, accelerator="cpu", enable_model_summary=False, num_sanity_val_steps=0,
    default_root_dir=".", callbacks=[Own(), pl.callbacks.ModelCheckpoint(".", "best", every_n_train_steps=5)],
    logger=pl.loggers.CSVLogger(".", name="logged"),
)
trainer.fit(Module(), loader, DataLoader(Rows(), batch_size=4))
trainer.save_checkpoint("best.ckpt")
print("REACHED")
"""
)
HUGGING_FACE = (
    DATA
    + """
import transformers
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def forward(self, x, labels=None):
        return {"loss": (self.layer(x) - labels).pow(2).mean()}
def collate(items):
    return {"x": torch.stack([x for x, _ in items]), "labels": torch.stack([y for _, y in items])}
arguments = transformers.TrainingArguments(
    "out", per_device_train_batch_size=4, max_steps=60, report_to=[], disable_tqdm=True, use_cpu=True,
    save_steps=10, logging_steps=10)
trainer = transformers.Trainer(Model(), arguments, train_dataset=Rows(), data_collator=collate)
trainer.train()
trainer.save_model("out/final")
print("REACHED")
"""
)
KERAS = """
import time, numpy as np
import tensorflow as tf, keras
class Own(keras.callbacks.Callback):
    def on_epoch_end(self, *_, **__):
        open("own.txt", "w").write("overwritten")
def wait(x):
    time.sleep(0.002)
    return x
def load(x):
    return tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), (8,)), tf.reduce_sum(x)
data = tf.data.Dataset.from_tensor_slices(np.random.rand(60, 8).astype("float32")).map(load).batch(4)
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(data, epochs=2, verbose=0, callbacks=[
    keras.callbacks.ModelCheckpoint("model.keras", save_freq=2), keras.callbacks.CSVLogger("log.csv"), Own()])
model.save("model.keras")
print("REACHED")
"""
PYDATASET = """
import time, numpy as np, keras
class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 200
    def __getitem__(self, index):
        time.sleep(0.008)
        return np.random.rand(4, 8).astype("float32"), np.random.rand(4, 1).astype("float32")
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Rows(), epochs=2, verbose=0, callbacks=[keras.callbacks.CSVLogger("log.csv")])
print("REACHED")
"""
GENERATOR = """
import time, numpy as np, keras
def rows():
    while True:
        time.sleep(0.004)
        yield np.random.rand(4, 8).astype("float32"), np.random.rand(4, 1).astype("float32")
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(rows(), steps_per_epoch=500, epochs=2, verbose=0)
print("REACHED")
"""
IN_CODE = (
    DATA.replace("4000", "400")
    + """
from feedwatch.torch import FeedWatch
model = torch.nn.Linear(8, 1)
watch = FeedWatch("runs/a", trial=True)
for epoch in range(2):
    for x, y in watch(loader):
        model(x).mean().backward()
torch.save(model.state_dict(), "model.pt")
print("REACHED")
"""
)


def tried(tmp_path, text, *given, command="try", **environment):
    """Standard output, error output, and every file that was there before."""
    (tmp_path / "train.py").write_text(textwrap.dedent(text))
    for name in KEPT:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"the user's own {name}")
    told = ["-m", "feedwatch", command, *given, "train.py"] if command else ["train.py"]
    done = subprocess.run(
        [sys.executable, *told], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", "FEEDWATCH_STRICT": "1", "TF_CPP_MIN_LOG_LEVEL": "3",
             "CUDA_VISIBLE_DEVICES": "", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def section_of(tmp_path, done, home="there"):
    report = load_run(tmp_path / home)
    assert report.status is Status.FINISHED
    assert report.trial is not None
    return report.trial


def alone(section):
    """On a machine that others use, a trial of ten seconds may not be able to decide; it says so."""
    return not any("other processes" in note for note in section.notes)


def check_nothing_was_written(tmp_path, done):
    assert "REACHED" not in done.stdout
    for name in KEPT:
        assert (tmp_path / name).read_text() == f"the user's own {name}", name
    assert [str(file) for file in tmp_path.rglob("*.ckpt") if file.name != "best.ckpt"] == []
    assert not (tmp_path / "out" / "final").exists()
    assert list(tmp_path.rglob("checkpoint-*")) == []
    assert [file.read_text() for file in tmp_path.rglob("metrics.csv")] == []
    assert "thrown away" in next(line for line in done.stderr.splitlines() if line.startswith("feedwatch:"))


@pytest.mark.parametrize(
    ("text", "kind", "seconds"),
    [
        pytest.param(TORCH, "num_workers", "10", id="torch"),
        # An epoch of a second: whole epochs are counted, which takes longer.
        pytest.param(LIGHTNING, "num_workers", "18", id="lightning"),
        pytest.param(HUGGING_FACE, "num_workers", "10", id="huggingface", marks=pytest.mark.loaders),
        pytest.param(KERAS, "parallel map", "10", id="keras-tensorflow"),
        pytest.param(PYDATASET, "workers", "10", id="keras-pydataset"),
    ],
)
def test_a_trial_measures_and_writes_nothing_of_the_users(tmp_path, text, kind, seconds):
    done = tried(tmp_path, text, "--seconds", seconds, "--log-dir", "there", KERAS_BACKEND="tensorflow")
    check_nothing_was_written(tmp_path, done)
    section = section_of(tmp_path, done)
    assert section.ended in (Ended.DECIDED, Ended.TIME_IS_UP)
    assert {row.role for row in section.rows} == set(Role)
    assert section.ceiling is not None
    assert any(kind in row.name and row.blocks for row in section.rows), section
    if alone(section):
        assert section.ceiling.low > 1.2
    if section.ended is Ended.DECIDED:
        assert section.winner is not None, section
        assert section.winner.outcome is Outcome.FASTER
    if section.winner is not None:
        assert section.fix.after
        assert load_run(tmp_path / "there").findings[0].gain.basis.value == "measured"
        assert f"Use {section.picked}" in " ".join(done.stderr.split())
    assert json.loads((tmp_path / "there/feedwatch/report.json").read_text())["schema"] == 2


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_keras_on_other_backends(tmp_path, backend):
    done = tried(tmp_path, PYDATASET, "--seconds", "8", "--log-dir", "there", KERAS_BACKEND=backend)
    check_nothing_was_written(tmp_path, done)
    section = section_of(tmp_path, done)
    tried_pools = [row for row in section.rows if row.name.startswith("workers=")]
    assert tried_pools
    if alone(section):
        assert any(row.outcome is Outcome.FASTER for row in tried_pools), section
        assert section.as_is.wait_share > 0.3


def test_a_generator_is_measured_as_it_is_and_the_reason_is_said(tmp_path):
    done = tried(tmp_path, GENERATOR, "--seconds", "5", "--log-dir", "there", KERAS_BACKEND="tensorflow")
    section = section_of(tmp_path, done)
    assert section.ceiling is not None
    assert any("read only once" in note for note in section.notes)


def test_in_code_it_writes_beside_the_earlier_run(tmp_path):
    done = tried(tmp_path, IN_CODE, command=None, FEEDWATCH_TRIAL='{"seconds": 5, "only": [], "directory": null}')
    check_nothing_was_written(tmp_path, done)
    assert section_of(tmp_path, done, "runs/a-trial").as_is is not None


def test_without_a_trial_nothing_of_it_is_loaded(tmp_path):
    text = (
        IN_CODE.replace(", trial=True", "")
        + """
import sys
print(sorted(name for name in sys.modules if "trial" in name and name.startswith("feedwatch")))
"""
    )
    done = tried(tmp_path, text.replace("400", "40"), command=None)
    # The section of a report is part of every report's form, and its table of the console's.
    assert done.stdout.splitlines()[-1] == "['feedwatch.model.trial', 'feedwatch.report.trial']"
