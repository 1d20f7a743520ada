"""Libraries that bring an input pipeline of their own: their settings, read from attributes.

None of them is imported here. A class is known by the package it comes from, and an attribute that is missing is
unknown: these are other people's names, and some of them are private.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any, Final

from feedwatch.model.pipeline import LoaderFacts, PipelineFacts
from feedwatch.model.stream import StreamFacts

MAX_STAGES: Final = 64
_REMOTE: Final = re.compile(r"(pipe:|[a-zA-Z][a-zA-Z0-9+.-]+://)")
_NAMES: Final = {"torchdata": "torchdata.nodes", "ray": "Ray Data", "dali": "NVIDIA DALI", "mosaic": "mosaic streaming"}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def read_stream(*things: Any) -> StreamFacts | None:
    """Of the first that belongs to a library we know: a data set, or what is iterated itself."""
    for thing in things:
        for kind in type(thing).__mro__:
            for package, read in _READERS.items():
                if kind.__module__ == package or kind.__module__.startswith(package + "."):
                    return read(thing)
    return None


def shown_stream(facts: StreamFacts) -> dict[str, str | int | float | bool | None]:
    """For the table of settings in the report: what is known."""
    return {name: value for name, value in asdict(facts).items() if value is not None}


def stream_facts(facts: StreamFacts) -> PipelineFacts:
    """A library's own loader, with no DataLoader inside: its settings are known, its times are not."""
    kind, name = ("grain" if facts.library == "grain" else "iterable"), _NAMES.get(facts.library, facts.library)
    opaque = None if kind == "grain" else f"{name}, whose own times are not measured"
    return PipelineFacts(kind, stream=facts, settings=shown_stream(facts), opaque=opaque)


def with_hub_dataset(facts: LoaderFacts, dataset: Any) -> LoaderFacts:
    """A data set of Hugging Face's `datasets` tells how its rows are read."""
    if not any(kind.__module__.startswith("datasets.") for kind in type(dataset).__mro__):
        return facts
    shards = _whole(getattr(dataset, "num_shards", None))
    if "_indices" not in vars(dataset):  # an IterableDataset
        return replace(facts, dataset_shards=shards)
    kind = getattr(dataset, "_format_type", None)
    return replace(facts, indices_mapping=dataset._indices is not None, dataset_format=str(kind or "python"))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _bytes(value: Any) -> int | None:
    """100_000_000, "100mb", "64GiB". A share of the disk (0.75) is unknown in bytes."""
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    return _whole(value) if found is None else int(float(found[1]) * 1024 ** _POWERS[found[2].lower()])


def _is_remote(place: Any) -> bool | None:
    return bool(_REMOTE.match(place)) if isinstance(place, str) else None


# -- one reader per library ----------------------------------------------------------------------


def _litdata(thing: Any) -> StreamFacts:
    """A StreamingDataset, or several of them in a combined one."""
    parts = getattr(thing, "_datasets", None) or [thing]
    first = parts[0]
    files = [getattr(part, "subsampled_files", None) for part in parts]
    place = getattr(first, "input_dir", None)
    remote = None if place is None else _is_remote(getattr(place, "url", None)) or False
    return StreamFacts(
        library="litdata",
        predownload=_whole(getattr(first, "max_pre_download", None)),
        cache_limit_bytes=_bytes(getattr(first, "max_cache_size", None)),
        cached=remote,  # what was downloaded stays; local chunks are read where they are
        shards=sum(map(len, files)) if all(isinstance(each, list) for each in files) else None,  # type: ignore[arg-type]
        remote=remote,
    )


def _mosaic(thing: Any) -> StreamFacts:
    streams = getattr(thing, "streams", None) or []
    shards = getattr(thing, "shards", None)
    remote = any(getattr(each, "remote", None) for each in streams) if streams else None
    return StreamFacts(
        library="mosaic",
        predownload=_whole(getattr(thing, "predownload", None)),
        cache_limit_bytes=_bytes(getattr(thing, "cache_limit", None)),
        cached=remote,
        shards=len(shards) if isinstance(shards, list) else None,
        remote=remote,
        shuffle_buffer=_whole(getattr(thing, "shuffle_block_size", None)),
    )


def _webdataset(thing: Any) -> StreamFacts:
    stages = list(getattr(thing, "pipeline", []))[:MAX_STAGES]
    urls = next((stage.urls for stage in stages if isinstance(getattr(stage, "urls", None), list)), None)
    buffers = [stage.args[0] for stage in stages if _is_shuffle(stage) and stage.args]
    return StreamFacts(
        library="webdataset",
        cached=any("Cache" in type(stage).__name__ for stage in stages),
        shards=None if urls is None else len(urls),
        remote=None if not urls else _is_remote(urls[0]),
        shuffle_buffer=_whole(buffers[-1]) if buffers else None,  # the first one shuffles the shards
    )


def _is_shuffle(stage: Any) -> bool:
    return "shuffle" in getattr(getattr(stage, "f", None), "__name__", "")


def _torchdata(thing: Any) -> StreamFacts:
    nodes = list(_below(thing, ("root", "source")))
    mappers = [node for node in nodes if _whole(getattr(node, "num_workers", None)) is not None]
    threads = [node.num_workers for node in mappers if getattr(node, "method", None) == "thread"]
    processes = [node.num_workers for node in mappers if getattr(node, "method", None) != "thread"]
    ahead = [node.prefetch_factor for node in nodes if _whole(getattr(node, "prefetch_factor", None)) is not None]
    return StreamFacts(
        library="torchdata",
        workers=max(processes) if processes else None,
        read_threads=max(threads) if threads else None,
        prefetch_buffer=max(ahead) if ahead else None,
    )


def _grain(thing: Any) -> StreamFacts:
    """`grain.DataLoader` names its options; a chain of data sets has a stage for each process and each read."""
    chain = list(_below(thing, ("_parents", "_datasets", "_dataset")))
    reading = next((each._read_options for each in chain if hasattr(each, "_read_options")), None)
    named = _whole(getattr(getattr(thing, "_multiprocessing_options", None), "num_workers", None))
    processes = sum(type(each).__name__ == "ProcessPrefetchIterDataset" for each in chain)
    return StreamFacts(
        library="grain",
        workers=processes if named is None else named,
        read_threads=_whole(getattr(reading, "num_threads", None)),
        prefetch_buffer=_whole(getattr(reading, "prefetch_buffer_size", None)),
    )


def _dali(thing: Any) -> StreamFacts:
    """An iterator of one of its plugins, over one pipeline per device."""
    pipe = next(iter(getattr(thing, "_pipes", None) or ()), None)
    return StreamFacts(
        library="dali",
        read_threads=_whole(getattr(pipe, "_num_threads", None)),
        prefetch_buffer=_whole(getattr(pipe, "_prefetch_queue_depth", None)),
    )


def _below(thing: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """The thing and what it reads from, each once."""
    waiting, seen = [thing], set[int]()
    while waiting and len(seen) < MAX_STAGES:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        for name in names:
            found = getattr(each, "__dict__", {}).get(name)
            waiting += [part for part in (found if isinstance(found, (list, tuple)) else (found,)) if part is not None]


def _named(library: str) -> Callable[[Any], StreamFacts]:
    """Its settings lie in a process or an engine that cannot be asked from here."""
    return lambda _: StreamFacts(library=library)


_READERS: Final[dict[str, Callable[[Any], StreamFacts]]] = {
    "litdata": _litdata,
    "streaming": _mosaic,
    "webdataset": _webdataset,
    "torchdata.nodes": _torchdata,
    "grain": _grain,
    "ray.data": _named("ray"),
    "nvidia.dali": _dali,
}
