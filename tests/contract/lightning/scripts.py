"""Training scripts for tests that need a process of their own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]

HEAD = """
import logging, os, signal, sys, time, warnings
warnings.simplefilter("ignore")
import torch
from torch.utils.data import DataLoader, Dataset
import {flavour} as pl
logging.getLogger("{flavour}").setLevel(logging.ERROR)
from feedwatch.lightning import FeedWatch

class Items(Dataset):
    def __init__(self, slow_rank=None):
        self.slow_rank = slow_rank
    def __len__(self):
        return 64
    def __getitem__(self, index):
        rank = int(os.environ.get("LOCAL_RANK", "0"))
        if torch.distributed.is_initialized():
            rank = torch.distributed.get_rank()
        if rank == self.slow_rank:
            time.sleep(0.004)
        return torch.rand(6)

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(6, 1)
    def training_step(self, batch, index):
        return self.layer(batch).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)

def trainer(directory, callbacks, **more):
    return pl.Trainer(accelerator="cpu", callbacks=callbacks, default_root_dir=directory, logger=False,
                      enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
                      **{{"max_epochs": 2, **more}})

def main(directory):
{body}

if __name__ == "__main__":
    main(sys.argv[1])
"""


def run(directory: Path, body: str, flavour: str = "lightning.pytorch", timeout: int = 150, **environ: str):
    """The finished process; its output is text."""
    script = directory / "train.py"
    script.write_text(HEAD.format(flavour=flavour, body=textwrap.indent(textwrap.dedent(body), "    ")))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", "FEEDWATCH_STRICT": "1", **environ}
    for name in ("LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, str(script), str(directory)],
        env=environment,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
