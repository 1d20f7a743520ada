import torch

from feedwatch.hooks.run import Ranks
from feedwatch.hooks.torch.facts import read_run_facts


def test_a_run_tells_its_framework_its_device_and_its_place_among_others():
    facts = read_run_facts("torch", "2.9", torch.device("cpu"), Ranks(3, 8, 4))
    assert (facts.framework, facts.version, facts.backend) == ("torch", "2.9", "torch")
    assert (facts.device, facts.device_kind) == ("cpu", "cpu")
    assert (facts.rank, facts.world_size, facts.local_ranks) == (3, 8, 4)
    assert facts.precision is None
