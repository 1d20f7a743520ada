"""Cases for FW106."""

from tests.rules.build import case, loader, window

TENSORS = loader(
    num_workers=0, in_memory=True, item_ms=0.004, load_ms=6.0, batch_size=512, dataset_name="TensorDataset"
)

FIRES = {
    "a TensorDataset item by item": case(window(8, 6), loader=TENSORS),
    "through workers as well": case(
        window(8, 5), loader=loader(num_workers=2, in_memory=True, item_ms=0.01, load_ms=15.0, batch_size=512)
    ),
    "item time from the batch": case(
        window(8, 6), loader=loader(num_workers=0, in_memory=True, item_ms=None, load_ms=6.0, batch_size=2048)
    ),
}
SILENT = {
    "healthy": case(window(100, 1), loader=TENSORS),
    "items are real work": case(window(), loader=loader(num_workers=0, in_memory=True, item_ms=2.0)),
    "it indexes whole batches": case(
        window(8, 6), loader=loader(num_workers=0, in_memory=True, item_ms=0.01, load_ms=6.0, batched_getitems=True)
    ),
    "read from files": case(window(8, 6), loader=loader(num_workers=0, in_memory=False, item_ms=0.01, load_ms=6.0)),
}
UNKNOWN = {
    "nobody saw where items come from": case(window(8, 6), loader=loader(in_memory=None, item_ms=0.01, load_ms=6.0)),
    "no times": case(window(8, 6), loader=loader(in_memory=True, item_ms=None, load_ms=None)),
}
