"""Cases for FW112."""

from tests.rules.build import case, cuda, loader, torch_run, window

ON_DEVICE = loader(num_workers=0, device_tensors=True, load_ms=8.0, batch_size=256, in_memory=False)

FIRES = {"items are moved one by one": case(window(20, 8), loader=ON_DEVICE, of=cuda())}
SILENT = {
    "healthy": case(window(20, 0.1), loader=ON_DEVICE, of=cuda()),
    "host tensors": case(window(20, 8), loader=loader(device_tensors=False), of=cuda()),
    "whole batches on the device": case(
        window(20, 8), loader=loader(num_workers=0, device_tensors=True, batch_size=None, load_ms=8.0), of=cuda()
    ),
    "no device": case(window(20, 8), loader=ON_DEVICE, of=torch_run()),
}
UNKNOWN = {"nobody looked": case(window(20, 8), loader=loader(device_tensors=None), of=cuda())}
