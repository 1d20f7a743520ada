from types import SimpleNamespace

from torch.utils.data import DataLoader

from feedwatch.hooks.torch.unwrap import opaque, unwrap

LOADER = DataLoader([1, 2])


def test_a_data_loader_is_itself():
    assert unwrap(LOADER) == ((LOADER,), (), None)


def test_wrappers_around_wrappers_are_looked_through_and_named():
    found = unwrap(SimpleNamespace(loader=SimpleNamespace(dataloader=LOADER)))
    assert found.loaders == (LOADER,)
    assert found.wrappers == ("SimpleNamespace", "SimpleNamespace")


def test_something_that_contains_itself_ends():
    endless = SimpleNamespace()
    endless.loader = SimpleNamespace(loader=endless)
    assert unwrap(endless).loaders == ()


def test_a_property_is_not_asked():
    class Strange:
        @property
        def loader(self):
            raise AssertionError("asked")

    assert unwrap(Strange()).loaders == ()


def test_things_without_attributes_are_opaque():
    assert unwrap(iter([1])).loaders == ()
    assert opaque(iter([1])) == "list_iterator: no DataLoader was found inside it, so what it does is not seen"


def test_several_loaders_are_told_apart():
    other = DataLoader([3])
    assert unwrap(SimpleNamespace(_flattened=[LOADER, other])).loaders == (LOADER, other)
