import sys
import types

from feedwatch.hooks.undo import Undo
from feedwatch.hooks.unsaved import SAVERS, keep_unsaved


def test_what_saves_writes_nothing_and_is_put_back(monkeypatch):
    calls, notes = [], []

    class Model:
        def save(self, path):
            calls.append(path)

    class Child(Model):
        pass

    module = types.SimpleNamespace(Model=Child, __name__="keras")
    for name, _, _ in SAVERS:
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "keras", module)
    undo = Undo()
    keep_unsaved(undo, notes.append)
    Child().save("model.keras")
    assert calls == []
    assert notes == ["Child.save was called and wrote nothing: this run is a trial"]
    undo.all()
    Child().save("model.keras")
    assert calls == ["model.keras"]
    assert "save" not in vars(Child)


def test_nothing_is_loaded_for_it(monkeypatch):
    for name, _, _ in SAVERS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    keep_unsaved(None, print)
    assert not any(name in sys.modules for name, _, _ in SAVERS)
