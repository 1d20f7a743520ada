"""FW104: eight short epochs, each of which starts two workers, or keeps them."""

from torch.utils.data import DataLoader

from tests.rules.executed.torch_parts import Items, train

RUN_GAIN = True


def bad():
    return train(DataLoader(Items(96, item_ms=0), batch_size=8, num_workers=2), compute_ms=10, epochs=8)


def good(_finding):
    loader = DataLoader(Items(96, item_ms=0), batch_size=8, num_workers=2, persistent_workers=True)
    return train(loader, compute_ms=10, epochs=8)
