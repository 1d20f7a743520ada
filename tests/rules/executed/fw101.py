"""FW101: 40 ms of loading and 40 ms of computing take turns, or run side by side."""

from torch.utils.data import DataLoader

from tests.rules.executed.torch_parts import Items, train


def bad():
    return train(DataLoader(Items(288, item_ms=5), batch_size=8), compute_ms=40)


def good(finding):
    workers = int(finding.evidence["workers_advised"])
    loader = DataLoader(Items(288, item_ms=5), batch_size=8, num_workers=workers, persistent_workers=True)
    return train(loader, compute_ms=40)
