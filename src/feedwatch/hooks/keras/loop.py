"""A loop of one's own with Keras models: GradientTape, JAX, torch.

with watch(dataset, "runs/a") as batches:
    for epoch in range(epochs):
        for x, y in batches:
            ...                    # everything until the next batch is asked for is the step
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from feedwatch.hooks.keras.watched_loop import Watch

Batch = TypeVar("Batch")


def watch(
    data: "Iterable[Batch]",
    log_dir: str | os.PathLike[str] | None = None,
    *,
    console: bool = True,
    progress: bool = False,
    start_step: int = 0,
    start_epoch: int = 0,
) -> "Watch[Batch]":
    """The batches of a loop of your own, each fetch timed. Every walk through them is an epoch of one run, which ends
    with `with`, with `close`, or with the script; a further `watch` with the same `log_dir` goes on in it until then.

    log_dir: where to write; by default a new directory under `runs/`.
    progress: one line on stderr that is renewed about once a second.
    start_step, start_epoch: where a resumed run goes on.
    """
    # Late: `import feedwatch.keras` loads nothing that the callback does not need yet.
    from feedwatch.hooks.keras.watched_loop import Watch
    from feedwatch.settings import Settings

    settings = Settings(console=console, progress=progress)
    return Watch(data, log_dir, settings, start_step=start_step, start_epoch=start_epoch)
