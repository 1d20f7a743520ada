"""Runs a case once, with or without feedwatch, and tells everything that could differ."""

import random
import signal
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.contract.lightning.cases import Case

BARE = {
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "enable_checkpointing": False,
    "logger": False,
    "num_sanity_val_steps": 0,
}


@dataclass
class Outcome:
    weights: dict[str, torch.Tensor]
    next_draws: tuple[float, float, float]
    trained: int
    error: BaseException | None
    trainer: Any
    data: Any
    collate: Any


def fit(case: Case, pl: Any, directory: Path, watchers: list[Any]) -> Outcome:
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002 -- the global generator is the one a stray draw would disturb
    random.seed(7)
    model = case.model(pl)
    data = case.data(pl)
    collate = getattr(data, "collate_fn", None)
    error: BaseException | None = None
    for number in range(case.fits):
        trainer = make_trainer(case, pl, directory, watchers)
        val = case.data(pl) if case.val else None
        handler = signal.getsignal(signal.SIGINT)
        try:
            if case.resume_at is not None and number == 0:
                trainer = resumed(case, pl, directory, watchers, model, data)
            else:
                trainer.fit(model, data, val)
        except BaseException as raised:  # SystemExit is what a user gets after Ctrl-C
            error = without_frames(raised)
        finally:
            signal.signal(signal.SIGINT, handler)
    draws = (float(torch.rand(1)), float(np.random.rand()), random.random())  # noqa: NPY002
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    return Outcome(weights, draws, model.trained, error, trainer, data, collate)


def without_frames(error: BaseException) -> BaseException:
    """Frames hold the loader's iterator: its workers would only be shut down by a later garbage collection."""
    link: BaseException | None = error
    while link is not None:
        traceback.clear_frames(link.__traceback__)
        link.__traceback__, link = None, link.__cause__ or link.__context__
    return error


def make_trainer(case: Case, pl: Any, directory: Path, watchers: list[Any], **more: Any) -> Any:
    bare = {} if case.trainer.get("barebones") else BARE
    profiler = {"profiler": case.profiler(pl, directory)} if case.profiler is not None else {}
    return pl.Trainer(
        **{
            "accelerator": "cpu",
            "max_epochs": 1,
            "callbacks": list(watchers),
            "default_root_dir": directory,
            **bare,
            **profiler,
            **case.trainer,
            **more,
        }
    )


def resumed(case: Case, pl: Any, directory: Path, watchers: list[Any], model: Any, data: Any) -> Any:
    """Train some steps, save, and go on from the checkpoint in a new Trainer. Only the second fit is watched."""
    first = make_trainer(case, pl, directory, [], max_steps=case.resume_at, max_epochs=2)
    first.fit(model, data)
    path = directory / "half.ckpt"
    first.save_checkpoint(path)
    model.trained = 0
    second = make_trainer(case, pl, directory, watchers, max_epochs=2)
    second.fit(model, data, ckpt_path=path)
    return second


def left_behind(trainer: Any) -> list[str]:
    """Everything of ours that a fit could leave on other people's objects or in the process."""
    fit_loop = trainer.fit_loop
    owners = [trainer, trainer.profiler, trainer.strategy, fit_loop, fit_loop.epoch_loop, fit_loop.epoch_loop.val_loop]
    names = {"start", "stop", "profile", "run", "on_run_start", "setup_data", "process_dataloader"}
    names |= {"batch_to_device", "_feedwatch", "log_metrics", "save"}
    found = [
        f"{type(owner).__name__}.{name}" for owner in [*owners, *trainer.loggers] for name in names & set(vars(owner))
    ]
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("feedwatch")]
    for thread in threads:
        thread.join(2)  # one whose last word was interrupted by a second error is on its way out
    found += [thread.name for thread in threads if thread.is_alive()]
    found += [str(path) for path in Path("/dev/shm").glob("feedwatch-*")]
    return found
