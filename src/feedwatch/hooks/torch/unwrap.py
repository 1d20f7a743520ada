"""The DataLoaders inside other people's loaders: only what iterates them can be timed and asked for its settings."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from torch.utils.data import DataLoader

# Where a wrapper keeps what it wraps: Accelerate, Fabric, DeepSpeed, timm and torch_xla, tqdm, a watch of ours.
INSIDE: Final = ("base_dataloader", "_dataloader", "dataloader", "loader", "_loader", "iterable", "_iterable")
# Several at once: Lightning's CombinedLoader; webdataset's WebLoader begins with one.
SEVERAL: Final = ("_flattened", "pipeline")
MAX_DEPTH: Final = 8
NOTHING_INSIDE: Final = "no DataLoader was found inside it, so what it does is not seen"


class Unwrapped(NamedTuple):
    loaders: tuple[Any, ...]
    wrappers: tuple[str, ...]  # names of the classes around them, the outermost first
    one_rank_loads: bool | None  # Accelerate tells who loads for whom


def unwrap(loader: Any) -> Unwrapped:
    names: list[str] = []
    found = tuple(_loaders_in(loader, names, 0))
    dispatches = {"DataLoaderDispatcher": True, "DataLoaderShard": False}
    return Unwrapped(found, tuple(names), next((dispatches[name] for name in names if name in dispatches), None))


def opaque(loader: Any) -> str:
    return f"{type(loader).__name__}: {NOTHING_INSIDE}"


def _loaders_in(thing: Any, names: list[str], depth: int) -> Iterator[Any]:
    # Not isinstance: Accelerate's adapter claims the class of the loader that it wraps.
    if issubclass(type(thing), DataLoader) and "_dataloader" not in _attributes(thing):
        yield thing
        return
    names.append(type(thing).__name__)
    if depth < MAX_DEPTH:
        for part in _parts(thing):
            yield from _loaders_in(part, names, depth + 1)


def _parts(thing: Any) -> list[Any]:
    """From its own attributes only: a property may do anything."""
    attributes = _attributes(thing)
    for name in INSIDE:
        if attributes.get(name) is not None and attributes[name] is not thing:
            return [attributes[name]]
    for name in SEVERAL:
        if isinstance(attributes.get(name), list):
            return [part for part in attributes[name] if hasattr(part, "__iter__")]
    return []


def _attributes(thing: Any) -> dict[str, Any]:
    return getattr(thing, "__dict__", {})
