"""Cases for FW207."""

from tests.rules.build import (
    DeviceFacts,
    EpochBoundaries,
    case,
    cuda,
    keras_run,
    loader,
    stage,
    tf_data,
    torch_run,
    transfers,
    window,
)

STATIC = loader(num_workers=4, load_ms=20.0, in_memory=True, static_items=True, dataset_bytes=10**9, item_ms=0.5)
ROOM = DeviceFacts(memory_free_bytes=20 * 10**9)

FIRES = {
    "small static data": case(window(50, 0.1), loader=STATIC, of=cuda(), device=ROOM, transfers=transfers()),
    "it waits for them": case(window(50, 20.0), loader=STATIC, of=cuda(), device=ROOM),
    "TensorFlow": case(
        window(50, 0.1),
        tf=tf_data(
            stage("FromTensorSlices", 1.0),
            stage("Batch", 1.0),
            stage("Prefetch", 0.1),
            from_memory=True,
            epoch_bytes=10**9,
        ),
        of=keras_run(device_kind="cuda"),
        device=ROOM,
        transfers=transfers(),
    ),
}
SILENT = {
    "healthy": case(
        window(50, 0.1), loader=STATIC, of=cuda(), device=ROOM, transfers=transfers(copy_ms=0.5, idle=0.01)
    ),
    "too large": case(
        window(50, 0.1), loader=STATIC, of=cuda(), device=DeviceFacts(memory_free_bytes=10**9), transfers=transfers()
    ),
    "one epoch": case(
        window(50, 0.1), loader=STATIC, of=cuda(), device=ROOM, transfers=transfers(), boundaries=EpochBoundaries()
    ),
    "no device": case(window(50, 20.0), loader=STATIC, of=torch_run(), device=ROOM),
    "augmented on the way": case(
        window(50, 0.1),
        loader=loader(load_ms=20.0, num_workers=4, in_memory=True, static_items=False, dataset_bytes=10**9),
        of=cuda(),
        device=ROOM,
        transfers=transfers(),
    ),
}
UNKNOWN = {
    "free memory unknown": case(window(50, 0.1), loader=STATIC, of=cuda(), device=DeviceFacts(), transfers=transfers()),
    "size unknown": case(
        window(50, 0.1),
        loader=loader(load_ms=20.0, num_workers=4, in_memory=True, static_items=True),
        of=cuda(),
        device=ROOM,
        transfers=transfers(),
    ),
}
