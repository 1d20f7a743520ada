"""While a trial runs, nothing saves: the weights of the run are thrown away, and must not replace a file of the user's.

The functions that save are exchanged where the script finds them, for the time of the run.
"""

import sys
from collections.abc import Callable
from typing import Any, Final

from feedwatch.hooks.undo import Undo

# module, class within it or None, function
SAVERS: Final = (
    ("torch", None, "save"),
    ("safetensors.torch", None, "save_file"),
    ("safetensors.torch", None, "save_model"),
    ("keras", "Model", "save"),
    ("keras", "Model", "save_weights"),
    ("keras", "Model", "export"),
    ("lightning.pytorch", "Trainer", "save_checkpoint"),
    ("pytorch_lightning", "Trainer", "save_checkpoint"),
    ("transformers", "Trainer", "save_model"),
    ("transformers", "PreTrainedModel", "save_pretrained"),
)


def keep_unsaved(undo: Undo | None, note: Callable[[str], None]) -> None:
    """`undo`: takes it back. None: not before the process ends, because a script may save on its way out."""
    for module, kind, name in SAVERS:
        owner = sys.modules.get(module)
        # A module may load its classes when they are asked for: nothing is loaded for this.
        owner = owner if owner is None or kind is None else vars(owner).get(kind)
        if owner is not None and callable(getattr(owner, name, None)):
            _exchange(undo, owner, name, note)


def _exchange(undo: Undo | None, owner: Any, name: str, note: Callable[[str], None]) -> None:
    before = vars(owner).get(name)
    inherited = before is None
    shown = f"{getattr(owner, '__name__', owner)}.{name}"

    def save_nothing(*_: Any, **__: Any) -> None:
        note(f"{shown} was called and wrote nothing: this run is a trial")

    def put_back() -> None:
        if vars(owner).get(name) is save_nothing:
            if inherited:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    setattr(owner, name, save_nothing)
    if undo is not None:
        undo.later(put_back)
