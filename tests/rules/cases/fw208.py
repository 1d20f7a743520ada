"""Cases for FW208."""

from tests.rules.build import DeviceFacts, case, cuda, loader, window

RESIDENT = loader(num_workers=0, load_ms=0.1, device_tensors=True, dataset_bytes=15 * 10**9, batch_size=None)
FULL = DeviceFacts(memory_used_share=0.97, memory_total_bytes=24 * 10**9)

FIRES = {"the data fill the device": case(window(50, 0.1), loader=RESIDENT, of=cuda(), device=FULL)}
SILENT = {
    "there is room": case(
        window(50, 0.1),
        loader=RESIDENT,
        of=cuda(),
        device=DeviceFacts(memory_used_share=0.6, memory_total_bytes=24 * 10**9),
    ),
    "the model fills it": case(
        window(50, 0.1), loader=loader(load_ms=1.0, device_tensors=False), of=cuda(), device=FULL
    ),
}
UNKNOWN = {
    "memory unknown": case(window(50, 0.1), loader=RESIDENT, of=cuda(), device=DeviceFacts()),
    "nobody saw where the data are": case(
        window(50, 0.1), loader=loader(load_ms=1.0, device_tensors=None), of=cuda(), device=FULL
    ),
}
