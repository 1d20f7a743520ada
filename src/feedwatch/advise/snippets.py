"""Pieces of fixes in the user's own names and values. A fix edits: what does not change is `...`."""

import keyword
from collections.abc import Mapping

from feedwatch.model.pipeline import LoaderFacts, TfStage


def loader_call(loader: LoaderFacts, settings: Mapping[str, object]) -> str:
    """`DataLoader(..., num_workers=4)` with the changed settings only, at the user's own line where it is known.

    Where a framework makes the loader, the settings have the names of its own arguments.
    """
    names = loader.argument_names
    shown = ", ".join(f"{names.get(name, name)}={value!r}" for name, value in settings.items())
    made_by = names.get("", "") or identifier(loader.class_name, "DataLoader")
    place = f"  # {loader.call_site}" if loader.call_site else ""
    target = "arguments" if names else "loader"
    return f"{target} = {made_by}(..., {shown}){place}"


def loader_settings(loader: LoaderFacts, names: Mapping[str, object]) -> dict[str, object]:
    """The same settings as they are now."""
    now: dict[str, object] = {
        "num_workers": loader.num_workers,
        "persistent_workers": loader.persistent_workers,
        "prefetch_factor": loader.prefetch_factor,
        "pin_memory": loader.pin_memory,
    }
    return {name: now[name] for name in names if name in now}


def loader_edit(loader: LoaderFacts, settings: Mapping[str, object]) -> tuple[str, str]:
    """(before, after)"""
    now = loader_settings(loader, settings)
    before = loader_call(loader, now) if now else f"loader = {identifier(loader.class_name, 'DataLoader')}(...)"
    return before, loader_call(loader, settings)


def function_name(stage: TfStage) -> str:
    """The user's function; a lambda has no name that can be pasted."""
    return identifier(stage.function, "function")


def place(stage: TfStage) -> str:
    """`decode (train.py:31)`, as far as it is known."""
    name = stage.function or stage.op
    where = stage.call_site or stage.source
    return f"{name} ({where})" if where else name


def comment(stage: TfStage) -> str:
    """A comment with the user's file and line, to be put behind code."""
    where = stage.call_site or stage.source
    return f"  # {where}" if where else ""


def identifier(name: str | None, otherwise: str) -> str:
    text = (name or "").rsplit(".", 1)[-1]
    return text if text.isidentifier() and not keyword.iskeyword(text) else otherwise
