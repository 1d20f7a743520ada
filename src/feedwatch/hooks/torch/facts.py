"""What every hook on torch says about its run."""

import os

import torch
from torch import distributed

from feedwatch.hooks.run import Ranks, ranks_of_launcher
from feedwatch.hooks.torch.device import describe_device
from feedwatch.model.facts import RunFacts


def ranks_of_group() -> Ranks:
    """As the script's own process group says: one that spawns its ranks sets no variables. Else as a launcher sets
    them. Without a launcher all ranks are taken to be on this machine.
    """
    launched = ranks_of_launcher()
    if not (distributed.is_available() and distributed.is_initialized()):
        return launched
    size = int(distributed.get_world_size())
    return Ranks(int(distributed.get_rank()), size, launched.local_ranks if "LOCAL_WORLD_SIZE" in os.environ else size)


def read_run_facts(framework: str, version: str, device: torch.device, ranks: Ranks) -> RunFacts:
    known = describe_device(device)
    return RunFacts(
        framework=framework,
        version=version,
        backend="torch",
        device=known.shown,
        device_kind=known.kind,
        device_name=known.name,
        device_id=known.id,
        tensor_cores=known.tensor_cores,
        capability=known.capability,
        tf32=known.tf32,
        rank=ranks.rank,
        world_size=ranks.world_size,
        local_ranks=ranks.local_ranks,
    )
