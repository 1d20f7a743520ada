"""Trains with Lightning's PyTorchProfiler, with or without our windows; prints what its trace holds."""

import json
import sys
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.profilers import PyTorchProfiler

from feedwatch.hooks.torch.profiler import TorchProfiler
from feedwatch.probe.profiling import ProfilerWindows

folder, mode, wait, warmup = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 2)

    def training_step(self, batch, index):
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Watch(L.Callback):
    windows = None

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        if mode == "alone":
            return
        if self.windows is None:
            told = (lambda: type(trainer.profiler).__name__) if mode == "told" else (lambda: None)
            self.windows = ProfilerWindows(
                TorchProfiler(told), choice=True, has_gpu=False, rank=0, warmup_steps=2, note=lambda text: None
            )
        self.windows.step_end(trainer.global_step)


watch = Watch()
schedule = torch.profiler.schedule(wait=wait, warmup=warmup, active=4, repeat=1)
profiler = PyTorchProfiler(dirpath=folder, filename="user", schedule=schedule, export_to_chrome=True)
trainer = L.Trainer(
    max_steps=40, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, profiler=profiler, callbacks=[watch],
)  # fmt: skip
trainer.fit(Model(), torch.utils.data.DataLoader(torch.zeros(400, 8), batch_size=4))
found = list(folder.rglob("*.json"))
events = json.loads(found[0].read_text())["traceEvents"]
print(json.dumps({
    "files": len(found),
    "linear": sum(event.get("name") == "aten::linear" for event in events),
    "steps": sorted({event["name"] for event in events if str(event.get("name")).startswith("ProfilerStep")}),
    "windows": watch.windows.windows if watch.windows else 0,
    "refused": watch.windows.refused_because if watch.windows else None,
}))  # fmt: skip
