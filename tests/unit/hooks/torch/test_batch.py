import pytest
import torch

from feedwatch.hooks.torch.batch import custom_transfer, peek, samples_in


def test_a_batch_is_weighed_by_dtype():
    facts = peek({"x": torch.zeros(4, 8), "y": [torch.zeros(4, dtype=torch.int64)]}, "cpu").judged()
    assert (facts.size_bytes, facts.tensors, facts.device) == (160, 2, "cpu")
    assert facts.dtypes == {"float32": 128, "int64": 32}
    assert facts.pinned is None


@pytest.mark.parametrize(
    ("values", "whole"),
    [
        (torch.arange(256.0), True),
        (torch.arange(256.0) / 255, True),
        (torch.linspace(0, 255, 300), False),
        (torch.randn(64), False),
        (torch.zeros(64), False),
        (torch.arange(300.0), False),
        (torch.arange(256), None),
    ],
)
def test_floats_that_are_bytes_in_disguise_are_told_from_real_ones(values, whole):
    assert peek(values, "cpu").judged().integral_floats is whole


def test_a_batch_without_tensors_is_unknown():
    assert peek(["text"], "cpu") is None


@pytest.mark.parametrize(
    ("batch", "configured", "samples"),
    [
        (torch.zeros(3, 2), 4, 3),
        ([torch.zeros(4, 2), torch.zeros(4)], 4, 4),
        ({"a": {"b": torch.zeros(2, 9)}}, None, 2),
        (torch.zeros(50, 4), 4, 4),
        ("text", 4, 4),
        (None, None, None),
    ],
)
def test_samples_are_the_first_dimension_but_never_more_than_configured(batch, configured, samples):
    assert samples_in(batch, configured) == samples


class Plain:
    pass


class Blocking:
    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return batch.to(device)


class Flowing:
    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return batch.to(device, non_blocking=True)


def test_an_overridden_transfer_is_named_and_read():
    assert custom_transfer([None, Plain()]) == (None, True)
    assert custom_transfer([None, Blocking()]) == ("Blocking.transfer_batch_to_device", False)
    assert custom_transfer([Flowing(), Blocking()]) == ("Flowing.transfer_batch_to_device", True)
