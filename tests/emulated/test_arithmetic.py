"""Values are the CPU's, bit for bit; the generic API of torch finds the device."""

import copy
import io
import os

import pytest
import torch


def trained(device):
    torch.manual_seed(7)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(144, 3)
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(4):
        images, labels = torch.randn(5, 1, 8, 8).to(device), torch.randint(3, (5,)).to(device)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, model


@pytest.mark.parametrize("device", ["emulated", "emulated:1"])
def test_training_gives_the_same_losses_and_weights_as_the_cpu(emulated, device):
    losses, model = trained(device)
    expected_losses, expected = trained("cpu")
    assert losses == expected_losses
    for here, there in zip(model.parameters(), expected.parameters(), strict=True):
        assert here.device.type == "emulated"
        assert torch.equal(here.cpu(), there)


def test_the_generic_api_finds_it(emulated):
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("emulated")
    assert torch.accelerator.device_count() == 2
    assert torch.get_device_module() is torch.emulated
    assert torch.get_device_module("emulated:1").get_device_name(1) == "emulated accelerator 1"
    assert torch.accelerator.current_stream(1).device == torch.device("emulated:1")
    with torch.accelerator.device_index(1):
        assert torch.zeros(1, device="emulated").device.index == 1
    assert torch.zeros(1, device="emulated").device.index == 0


def test_a_device_that_is_not_there_raises(emulated):
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal 2"):
        torch.zeros(1, device="emulated:2")


def test_weights_can_be_saved_loaded_and_copied(emulated):
    layer = torch.nn.Linear(3, 2).to("emulated:1")
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    for where, expected in ((None, "emulated:1"), ("cpu", "cpu"), ("emulated:0", "emulated:0")):
        file.seek(0)
        weight = torch.load(file, map_location=where)["weight"]
        assert weight.device == torch.device(expected)
        assert torch.equal(weight.cpu(), layer.weight.cpu())
    twin = copy.deepcopy(layer)
    assert twin.weight.device == layer.weight.device
    assert torch.equal(twin.weight.cpu(), layer.weight.cpu())


def test_operators_take_device_time_where_it_is_asked_for(emulated):
    tensor = torch.ones(4, device="emulated")
    assert emulated.operations("kernel") == []
    emulated.settings.operator_us = 100
    tensor.add(1).mul(2)
    torch.accelerator.synchronize()
    assert [(it.name, it.duration_ns) for it in emulated.operations("kernel")] == [
        ("aten::add", 100_000),
        ("aten::mul", 100_000),
    ]


def test_an_operator_whose_size_depends_on_the_data_waits(emulated):
    torch.ones(4, device="emulated").nonzero()
    assert emulated.counters().waits == {"operator": 1}


def test_a_forked_child_may_not_touch_a_used_device(emulated):
    torch.zeros(1).to("emulated")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            torch.manual_seed(1)  # what every DataLoader worker does
            torch.zeros(1).to("emulated")
            answer = b"it worked"
        except RuntimeError as error:
            answer = str(error).encode()
        os.write(writing, answer)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1000).startswith(b"Cannot re-initialize the emulated device in forked subprocess")
