"""Both import names: the callback inherits from whichever `Callback` the user's Trainer will ask for."""

import importlib
import importlib.util
import sys
from typing import Any, Final

FLAVOURS: Final = ("lightning.pytorch", "pytorch_lightning")


def callback_bases() -> tuple[type, ...]:
    """The `Callback` classes that are imported already; a second flavour is never imported for nothing."""
    found = [sys.modules[name] for name in FLAVOURS if hasattr(sys.modules.get(name), "Callback")]
    if not found:
        found = [_first_installed()]
    return tuple(dict.fromkeys(module.Callback for module in found))


def flavour_of(trainer: Any) -> Any:
    """The package that the user's Trainer comes from, for its version and its base classes."""
    for kind in type(trainer).__mro__:
        for name in FLAVOURS:
            if kind.__module__.startswith(name + "."):
                return sys.modules[name]
    return sys.modules[type(trainer).__module__.partition(".")[0]]


def _first_installed() -> Any:
    for name in FLAVOURS:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            return importlib.import_module(name)
    raise ModuleNotFoundError("neither lightning nor pytorch_lightning is installed", name="lightning")
