"""Short trainings that really happen, for the timeline: `python -m tests.tab.real_runs keras DIR`."""

import sys
import time

ITEM_SECONDS = 0.001
BATCH = 16
BATCHES = 60
EPOCHS = 2


def lightning(directory: str) -> None:
    """Two workers that sleep: the loop waits for them."""
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from torch.utils.data import DataLoader, Dataset

    from feedwatch.lightning import FeedWatch

    class Items(Dataset):
        def __len__(self) -> int:
            return BATCH * BATCHES

        def __getitem__(self, index: int) -> torch.Tensor:
            time.sleep(ITEM_SECONDS)
            return torch.randn(64)

    class Model(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(64, 8)

        def training_step(self, batch: torch.Tensor) -> torch.Tensor:
            return self.layer(batch).square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.01)

    torch.set_num_threads(1)
    loader = DataLoader(Items(), batch_size=BATCH, num_workers=2, persistent_workers=True)
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    Trainer(max_epochs=EPOCHS, accelerator="cpu", callbacks=[FeedWatch(directory, console=False)], **quiet).fit(
        Model(), loader
    )


def keras(directory: str) -> None:
    """A serial map that sleeps, and a prefetch behind it."""
    import os

    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras
    import numpy as np
    import tensorflow as tf

    from feedwatch.keras import FeedWatch

    def slowly(index: np.ndarray) -> np.ndarray:
        time.sleep(ITEM_SECONDS)
        return np.full(64, index, np.float32)

    def decode(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        item = tf.numpy_function(slowly, [index], tf.float32)
        item.set_shape((64,))
        return item, index % 8

    data = tf.data.Dataset.range(BATCH * BATCHES).map(decode).batch(BATCH).prefetch(2)
    model = keras.Sequential([keras.layers.Dense(8)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(data, epochs=EPOCHS, verbose=0, callbacks=[FeedWatch(directory, console=False)])


if __name__ == "__main__":
    {"lightning": lightning, "keras": keras}[sys.argv[1]](sys.argv[2])
