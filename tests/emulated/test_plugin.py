"""Where tests of the emulated device stand in a session that holds others as well."""

from tests.emulated import plugin


class Item:
    def __init__(self, name, *fixtures):
        self.name, self.fixturenames, self.markers = name, fixtures, []

    def add_marker(self, mark):
        self.markers.append(mark.name)


def test_they_come_last_in_their_own_order_and_are_marked():
    items = [Item("a", "emulated"), Item("b"), Item("c", "tmp_path", "emulated"), Item("d", "tmp_path")]
    plugin.pytest_collection_modifyitems(items)
    assert [item.name for item in items] == ["b", "d", "a", "c"]
    assert [item.markers for item in items] == [[], [], ["emulated"], ["emulated"]]
