"""What every hook on torch says about its run."""

import torch

from feedwatch.hooks.run import Ranks
from feedwatch.hooks.torch.device import describe_device
from feedwatch.model.facts import RunFacts


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
