"""FW102: one worker supplies a batch every 80 ms, the step could take one every 30."""

from torch.utils.data import DataLoader

from tests.rules.executed.torch_parts import Items, train


def bad():
    return train(DataLoader(Items(288, item_ms=10), batch_size=8, num_workers=1), compute_ms=30)


def good(finding):
    workers = int(finding.evidence["workers_advised"])
    return train(DataLoader(Items(400, item_ms=10), batch_size=8, num_workers=workers), compute_ms=30)
