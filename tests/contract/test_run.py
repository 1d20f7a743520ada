"""`feedwatch run`: real scripts that do not know of us, once bare and once watched."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from feedwatch.model.report import Status
from feedwatch.report.load import load_run

ROOT = Path(__file__).parents[2]

TORCH = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
data = TensorDataset(torch.rand(40, 3))
loader = DataLoader(data, batch_size=4, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print(len(iter(loader)), iter(loader)._num_workers)
for epoch in range(3):
    for values, in loader:
        optimizer.zero_grad()
        model(values).mean().backward()
        optimizer.step()
    with torch.no_grad():
        for values, in DataLoader(data, batch_size=8):
            model(values)
    if "fail" in sys.argv:
        raise ValueError("theirs")
print(repr([p.tolist() for p in model.parameters()]), torch.rand(2).tolist(), sys.argv[1:], __name__)
"""
KERAS = """
import keras, numpy as np
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(40, 3), np.random.rand(40, 1), batch_size=4, epochs=2, verbose=0)
print([w.tolist() for w in model.get_weights()])
"""
LIGHTNING = """
import lightning.pytorch as pl, torch
from torch.utils.data import DataLoader
class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
    def training_step(self, batch, index):
        return self.layer(batch).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
pl.seed_everything(1)
module = Module()
pl.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
           enable_model_summary=False, default_root_dir=".").fit(module, DataLoader(torch.rand(40, 3), batch_size=4))
print([p.tolist() for p in module.parameters()])
"""
HUGGING_FACE = """
import torch, transformers
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
    def forward(self, x):
        return {"loss": self.layer(x).mean()}
transformers.set_seed(1)
model = Model()
args = transformers.TrainingArguments(output_dir="out", per_device_train_batch_size=4, num_train_epochs=2, report_to=[],
                                      disable_tqdm=True, use_cpu=True, save_strategy="no")
transformers.Trainer(model, args, train_dataset=[{"x": torch.rand(3)} for _ in range(40)]).train()
print([p.tolist() for p in model.parameters()])
"""


def python(folder, *command, watched):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "KERAS_BACKEND": "tensorflow", "FEEDWATCH": ""}
    start = [sys.executable, "-m", "feedwatch", "run"] if watched else [sys.executable]
    return subprocess.run(
        [*start, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )


def last_line(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def reports(folder):
    return [load_run(path) for path in folder.rglob("report.json")]


@pytest.mark.parametrize(
    ("needs", "script", "framework", "batches"),
    [("torch", TORCH, "torch", 30), ("keras", KERAS, "keras", 20), ("lightning", LIGHTNING, "lightning", 20),
     ("transformers", HUGGING_FACE, "huggingface", 20)],
    ids=["torch", "keras", "lightning", "huggingface"],
)  # fmt: skip
def test_a_script_is_watched_once_and_trains_as_it_does_alone(tmp_path, needs, script, framework, batches):
    pytest.importorskip(needs)
    for name in ("bare", "watched"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(script)
    bare = last_line(python(tmp_path / "bare", "train.py", "--lr", "-m", watched=False))
    watched = last_line(python(tmp_path / "watched", "train.py", "--lr", "-m", watched=True))
    assert watched == bare
    (report,) = reports(tmp_path / "watched")
    assert report.run.framework == framework
    assert report.status is Status.FINISHED
    assert report.steps.batches == batches
    assert any("bounded by fetches" in note for note in report.self_cost.notes) == (framework == "torch")
    assert reports(tmp_path / "bare") == []


def test_an_error_of_the_script_is_told_as_python_tells_it(tmp_path):
    (tmp_path / "train.py").write_text(TORCH)
    bare = python(tmp_path, "train.py", "fail", watched=False)
    watched = python(tmp_path, "--log-dir", "here", "train.py", "fail", watched=True)
    assert watched.returncode == bare.returncode == 1
    theirs = textwrap.dedent(watched.stderr[watched.stderr.index("Traceback") :]).splitlines()
    assert theirs[0] == bare.stderr.splitlines()[0]
    assert "ValueError: theirs" in theirs
    assert not any("feedwatch" in line for line in theirs[: theirs.index("ValueError: theirs")])
    assert load_run(tmp_path / "here").status is Status.FAILED


def test_the_kill_switch_leaves_the_script_alone_and_a_module_is_run_by_name(tmp_path):
    (tmp_path / "mine.py").write_text(TORCH)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FEEDWATCH": "0"}
    command = [sys.executable, "-m", "feedwatch", "run", "-m", "mine", "a"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert last_line(done).endswith("['a'] __main__")
    assert reports(tmp_path) == []
