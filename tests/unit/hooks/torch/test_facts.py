import pytest
import torch
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore

from feedwatch.hooks.run import Ranks
from feedwatch.hooks.torch.facts import ranks_of_group, read_run_facts


def test_a_run_tells_its_framework_its_device_and_its_place_among_others():
    facts = read_run_facts("torch", "2.9", torch.device("cpu"), Ranks(3, 8, 4))
    assert (facts.framework, facts.version, facts.backend) == ("torch", "2.9", "torch")
    assert (facts.device, facts.device_kind) == ("cpu", "cpu")
    assert (facts.rank, facts.world_size, facts.local_ranks) == (3, 8, 4)
    assert facts.precision is None


@pytest.fixture
def group():
    """A process group without the other processes, as torch itself makes one for tests."""
    distributed.init_process_group("fake", rank=1, world_size=2, store=FakeStore())
    yield
    distributed.destroy_process_group()


def test_ranks_that_a_script_spawned_itself_are_known_by_their_group(group, monkeypatch):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert ranks_of_group() == Ranks(1, 2, 2)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    assert ranks_of_group() == Ranks(1, 2, 1)


def test_without_a_group_a_launcher_tells(monkeypatch):
    for name, value in (("RANK", "3"), ("WORLD_SIZE", "8"), ("LOCAL_WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    assert ranks_of_group() == Ranks(3, 8, 4)
