"""Pieces of fixes in the user's own names and values."""

import keyword
from collections.abc import Mapping

from feedwatch.model.pipeline import LoaderFacts, TfStage


def loader_call(loader: LoaderFacts, changes: Mapping[str, object] | None = None) -> str:
    """The user's DataLoader call, one setting per line, with the changed settings replaced or added."""
    settings: dict[str, object] = {"batch_size": loader.batch_size, "num_workers": loader.num_workers}
    if loader.pin_memory:
        settings["pin_memory"] = True
    if loader.persistent_workers:
        settings["persistent_workers"] = True
    # 2 is torch's own default, and without workers the argument is an error.
    if loader.num_workers and loader.prefetch_factor not in (None, 2):
        settings["prefetch_factor"] = loader.prefetch_factor
    settings.update(changes or {})
    lines = [f"    {name}={value!r}," for name, value in settings.items()]
    dataset = f"    dataset,  # your {loader.dataset_name}" if loader.dataset_name else "    dataset,"
    return "\n".join([f"loader = {identifier(loader.class_name, 'DataLoader')}(", dataset, *lines, ")"])


def function_name(stage: TfStage) -> str:
    """The user's function; a lambda has no name that can be pasted."""
    return identifier(stage.function, "function")


def place(stage: TfStage) -> str:
    """`decode (train.py:31)`, as far as it is known."""
    name = stage.function or stage.op
    return f"{name} ({stage.source})" if stage.source else name


def comment(stage: TfStage) -> str:
    """A comment with the user's file and line, to be put behind code."""
    return f"  # {stage.source}" if stage.source else ""


def identifier(name: str | None, otherwise: str) -> str:
    text = (name or "").rsplit(".", 1)[-1]
    return text if text.isidentifier() and not keyword.iskeyword(text) else otherwise
