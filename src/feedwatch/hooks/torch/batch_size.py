"""How many samples a batch holds: the first dimension of its first tensor."""

from collections.abc import Mapping
from typing import Any, Final

import torch

# Real batches are nested two or three deep; a self-referring one must not hang the step.
MAX_DEPTH: Final = 6


def samples_in(batch: Any, configured: int | None) -> int | None:
    for _ in range(MAX_DEPTH):
        if isinstance(batch, torch.Tensor):
            first = int(batch.shape[0]) if batch.dim() else 1
            # Larger than the loader's batch size: the first dimension is something else (time, for instance).
            return first if configured is None or first <= configured else configured
        if isinstance(batch, (list, tuple)) and batch:
            batch = batch[0]
        elif isinstance(batch, Mapping) and batch:
            batch = next(iter(batch.values()))
        else:
            break
    return configured
