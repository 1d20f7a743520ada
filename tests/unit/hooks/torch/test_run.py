"""A run on torch is opened with its loaders, and with the device's clock where it has one."""

import torch

from feedwatch.hooks.destination import own_destination
from feedwatch.hooks.run import Ranks
from feedwatch.hooks.torch.facts import read_run_facts
from feedwatch.hooks.torch.run import open_run
from feedwatch.measure.steps import Ends
from feedwatch.model.report import Status
from feedwatch.settings import Settings
from tests.fakes.devices import HostAsDevice

CPU = torch.device("cpu")


def opened(tmp_path):
    facts = read_run_facts("torch", "2", CPU, Ranks(0, 1, 1))
    return open_run(facts, Settings(console=False), own_destination(tmp_path), CPU, Ends.NEXT)


def test_the_host_computes_by_itself_and_has_no_clock_of_its_own(tmp_path):
    run, _, device = opened(tmp_path)
    assert device is None
    run.close(Status.FINISHED)


def test_a_loader_that_was_seen_is_given_back_when_the_run_is_closed(tmp_path):
    run, loaders, _ = opened(tmp_path)
    loader = torch.utils.data.DataLoader(torch.zeros(8, 2), batch_size=4)
    before = loader.collate_fn
    loaders.see(loader)
    assert loader.collate_fn is not before
    run.close(Status.FINISHED)
    assert loader.collate_fn is before


def test_a_device_with_a_clock_is_told_of_steps(tmp_path, monkeypatch):
    monkeypatch.setattr("feedwatch.hooks.torch.run.device_clock", lambda device: HostAsDevice())
    run, _, device = opened(tmp_path)
    assert device is not None
    run.close(Status.FINISHED)
