"""Installs the built wheel into empty environments, one per framework, and runs README's quick start in each.

make wheel-test                    # all; minutes, and some gigabytes below a temporary directory
python tools/wheel_test.py keras   # one of them
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

TORCH_DATA: Final = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(1)
loader = DataLoader(TensorDataset(torch.randn(640, 8), torch.randint(0, 3, (640,))), batch_size=16)
"""
BEFORE: Final = {
    "keras": """
import keras, numpy
class Batches(keras.utils.PyDataset):
    def __len__(self): return 40
    def __getitem__(self, index): return numpy.ones((16, 8), "float32"), numpy.zeros(16, "int32")
data = Batches()
model = keras.Sequential([keras.layers.Dense(3)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
""",
    "lightning": TORCH_DATA
    + """
from lightning.pytorch import LightningModule, Trainer
class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 3)
    def training_step(self, batch, index): return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.01)
model = Model()
""",
    "torch": TORCH_DATA
    + """
epochs, model = 5, torch.nn.Linear(8, 3)
def train_step(batch): torch.nn.functional.cross_entropy(model(batch[0]), batch[1]).backward()
""",
    "huggingface": """
import torch
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 3)
    def forward(self, x, labels):
        logits = self.layer(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}
model = Model()
args = TrainingArguments("out", num_train_epochs=5, per_device_train_batch_size=16, report_to=[], use_cpu=True)
data = [{"x": torch.ones(8), "labels": 0}] * 640
""",
}
# A loop that knows nothing of feedwatch, for `feedwatch run`.
UNWATCHED: Final = "\nfor epoch in range(epochs):\n    for batch in loader:\n        train_step(batch)\n"


@dataclass(frozen=True)
class Room:
    """One empty environment and a directory to train in."""

    where: Path

    @property
    def python(self) -> Path:
        return self.where / "venv" / "bin" / "python"

    def make(self, wheel: Path, extra: str) -> None:
        venv.create(self.where / "venv", with_pip=True)
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
        self.run([*pip, f"{wheel}[{extra}]"])

    def run(self, command: list[str]) -> str:
        """In no directory of ours, and without a path to our sources: what is imported is the wheel."""
        clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        done = subprocess.run(  # noqa: S603 -- our own words
            command, cwd=self.where, env=clean, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    def feedwatch(self, *words: str) -> str:
        return self.run([str(self.where / "venv" / "bin" / "feedwatch"), *words])


def quick_start(extra: str) -> str:
    """The block of README below the line that installs this extra."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    below = text.partition(f'pip install "feedwatch[{extra}]"')[2]
    found = re.search(r"```python\n(.*?)```", below.partition("\n### ")[0], re.DOTALL)
    assert found is not None, f"README has no quick start for {extra}"
    return found.group(1)


def built(where: Path) -> Path:
    subprocess.run(  # noqa: S603
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(where)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = where.glob("*.whl")
    return wheel


def check(wheel: Path, extra: str, where: Path) -> None:
    begun = time.monotonic()
    where.mkdir()
    room = Room(where)
    room.make(wheel, extra)
    installed = time.monotonic()
    (where / "quick_start.py").write_text(BEFORE[extra] + quick_start(extra), encoding="utf-8")
    room.run([str(room.python), "quick_start.py"])
    if extra == "torch":
        (where / "train.py").write_text(BEFORE[extra] + UNWATCHED, encoding="utf-8")
        room.feedwatch("run", "--log-dir", "runs/b", "train.py")
        room.feedwatch("compare", "runs/a", "runs/b")
    told = room.feedwatch("report", "runs/a")
    assert "Where a step goes" in told, told
    assert "registered and loads" in room.feedwatch("doctor")
    print(f"{extra}: installed in {installed - begun:.0f} s, trained and told in {time.monotonic() - installed:.0f} s")


def main() -> None:
    with tempfile.TemporaryDirectory() as where:
        wheel = built(Path(where) / "dist")
        for extra in sys.argv[1:] or BEFORE:
            check(wheel, extra, Path(where) / extra)


if __name__ == "__main__":
    main()
