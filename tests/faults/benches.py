# ruff: noqa: NPY002 -- the global generator is the one that a stray draw would disturb
"""The same small training in every framework, with a place for the user's own code in each step.

`train` runs it once and tells everything that could differ: the weights, the next random draws, the error.
"""

import os
import random
import time
from collections.abc import Mapping
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

BATCHES, SIZE, EPOCHS = 8, 8, 2
KERAS = ("keras-tensorflow", "keras-torch", "keras-jax")
TORCH = ("lightning", "torch")
ALL = (*KERAS, *TORCH)


class Outcome(NamedTuple):
    weights: bytes
    draws: tuple[float, ...]
    error: BaseException | None


class Inputs(NamedTuple):
    """What a row may change about the data. `item` is called for every batch that is made."""

    item: Any = None
    batches: int = BATCHES
    nan: bool = False
    workers: int = 0
    loader: Mapping[str, Any] = MappingProxyType({})  # more arguments of torch's DataLoader
    epochs: int = EPOCHS


def arrays(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).random((SIZE * BATCHES, 8)).astype("float32")
    x = x[: SIZE * inputs.batches]
    return (np.full_like(x, np.nan) if inputs.nan else x), x[:, :1].copy()


def caught(call) -> BaseException | None:
    try:
        call()
    except BaseException as error:
        return error
    return None


class KerasBench:
    def __init__(self, backend: str) -> None:
        os.environ["KERAS_BACKEND"] = backend
        import keras
        import tensorflow  # noqa: F401, ICN001 -- Keras imports it in the first fit, on any backend

        from feedwatch.keras import FeedWatch

        if backend == "torch":
            import torch

            torch.set_num_threads(1)
        self.keras, self.watch, self.name = keras, FeedWatch, f"keras-{backend}"

    def again(self, watch):
        return watch

    def model(self):
        keras = self.keras
        model = keras.Sequential(
            [keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dropout(0.2), keras.layers.Dense(1)]
        )
        model.compile("sgd", "mse")
        return model

    def train(self, watches, act=lambda step: None, inputs: Inputs | None = None) -> Outcome:
        keras, steps, epochs = self.keras, iter(range(10**6)), (inputs or Inputs()).epochs

        class UsersOwn(keras.callbacks.Callback):
            async_safe = True

            def on_train_batch_begin(self, batch, logs=None):
                act(next(steps))

        keras.utils.set_random_seed(3)
        model = self.model()
        data, more = self._data(inputs)
        error = caught(lambda: model.fit(*data, **more, epochs=epochs, verbose=0, callbacks=[*watches, UsersOwn()]))
        weights = b"".join(np.asarray(part).tobytes() for part in model.get_weights())
        draws = (random.random(), float(np.random.rand()), float(np.asarray(keras.ops.sum(keras.random.uniform((1,))))))
        return Outcome(weights, draws, error)

    def _data(self, inputs: Inputs | None):
        x, y = arrays(inputs or Inputs())
        if inputs is None or (inputs.item is None and not inputs.workers):
            return (x, y), {"batch_size": SIZE}
        if inputs.workers:
            return (torch_loader(inputs),), {}

        def batches():
            while True:
                for at in range(0, len(x), SIZE):
                    inputs.item(at // SIZE)
                    yield x[at : at + SIZE], y[at : at + SIZE]

        return (batches(),), {"steps_per_epoch": inputs.batches}


def torch_loader(inputs: Inputs):
    import torch

    x, y = map(torch.from_numpy, arrays(inputs))

    class Items(torch.utils.data.Dataset):
        def __len__(self):
            return inputs.batches

        def __getitem__(self, index):
            if inputs.item is not None:
                inputs.item(index)
            return x[index * SIZE : (index + 1) * SIZE], y[index * SIZE : (index + 1) * SIZE]

    shuffled = {"shuffle": inputs.batches > 0, "num_workers": inputs.workers}
    return torch.utils.data.DataLoader(Items(), batch_size=None, **shuffled, **inputs.loader)


class TorchBench:
    """A loop of one's own."""

    name = "torch"

    def __init__(self) -> None:
        import torch

        from feedwatch.torch import FeedWatch

        torch.set_num_threads(1)
        self.torch, self.watch = torch, FeedWatch
        self.train([])  # loads what the first step loads

    def again(self, watch):
        """One that was closed stays closed."""
        return self.watch(watch.log_dir, console=False)

    def seeded_model(self):
        torch = self.torch
        torch.manual_seed(7)
        np.random.seed(7)
        random.seed(7)
        return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Dropout(0.2), torch.nn.Linear(4, 1))

    def outcome(self, model, error) -> Outcome:
        weights = b"".join(value.detach().numpy().tobytes() for value in model.state_dict().values())
        return Outcome(weights, (random.random(), float(np.random.rand()), float(self.torch.rand(1))), error)

    def train(self, watches, act=lambda step: None, inputs: Inputs | None = None) -> Outcome:
        model = self.seeded_model()
        optimizer = self.torch.optim.SGD(model.parameters(), 0.01)
        loader, steps = torch_loader(inputs or Inputs()), iter(range(10**6))
        watch = watches[0] if watches else None

        def loop():
            with watch or nullcontext():
                for _ in range((inputs or Inputs()).epochs):
                    for x, y in loader if watch is None else watch(loader):
                        act(next(steps))
                        optimizer.zero_grad()
                        (model(x) - y).square().mean().backward()
                        optimizer.step()

        return self.outcome(model, caught(loop))


def tracker():
    """A logger whose server takes files, and its time."""
    from lightning.pytorch.loggers import Logger

    class Server:
        id = "1"

        def log_artifact(self, *_, **__):
            time.sleep(1)

    class WandbLogger(Logger):
        name, version, experiment = "tracker", "1", Server()

        def log_metrics(self, metrics, step=None):
            pass

        def log_hyperparams(self, *_, **__):
            pass

    return WandbLogger()


class LightningBench(TorchBench):
    name = "lightning"
    logger: Any = False

    def __init__(self) -> None:
        import logging

        import lightning
        import torch

        from feedwatch.lightning import FeedWatch

        logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
        torch.set_num_threads(1)
        self.torch, self.pl, self.watch = torch, lightning, FeedWatch
        self.train([])

    def again(self, watch):
        return watch

    def train(self, watches, act=lambda step: None, inputs: Inputs | None = None) -> Outcome:
        pl, torch, steps, layers = self.pl, self.torch, iter(range(10**6)), self.seeded_model()

        class Model(pl.LightningModule):
            def __init__(self):
                super().__init__()
                self.layers = layers

            def training_step(self, batch, index):
                act(next(steps))
                return (self.layers(batch[0]) - batch[1]).square().mean()

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 0.01)

        quiet = dict.fromkeys(("enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
        epochs = (inputs or Inputs()).epochs
        trainer = pl.Trainer(max_epochs=epochs, accelerator="cpu", callbacks=list(watches), logger=self.logger, **quiet)
        error = caught(lambda: trainer.fit(Model(), torch_loader(inputs or Inputs())))
        return self.outcome(layers, error)


def bench_of(framework: str):
    kind, _, backend = framework.partition("-")
    if kind == "keras":
        return KerasBench(backend)
    return LightningBench() if kind == "lightning" else TorchBench()
