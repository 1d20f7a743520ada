"""What TrainingArguments tell of a run, and what a DataLoader's arguments are called in them."""

from dataclasses import replace
from typing import Any, Final

from transformers import __version__

from feedwatch.hooks.run import Ranks, ranks_of_launcher
from feedwatch.hooks.torch.facts import read_run_facts
from feedwatch.model.facts import RunFacts

ARGUMENT_NAMES: Final = {
    "num_workers": "dataloader_num_workers",
    "prefetch_factor": "dataloader_prefetch_factor",
    "persistent_workers": "dataloader_persistent_workers",
    "pin_memory": "dataloader_pin_memory",
    "batch_size": "per_device_train_batch_size",
}


def run_facts(args: Any) -> RunFacts:
    ranks = Ranks(int(args.process_index), int(args.world_size), ranks_of_launcher().local_ranks)
    precision = "bf16-mixed" if args.bf16 else "16-mixed" if args.fp16 else "32-true"
    return replace(read_run_facts("huggingface", __version__, args.device, ranks), precision=precision)
