"""Libraries that bring an input pipeline of their own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A library that reads ahead by itself, with settings of its own, inside a DataLoader or instead of one."""

    library: str  # litdata | mosaic | webdataset | grain | torchdata | ray | dali
    predownload: int | None = None  # items (litdata: chunks) that are fetched ahead of the reader
    cache_limit_bytes: int | None = None  # local copies are deleted above it; None: unknown or without a limit
    cached: bool | None = None  # what was fetched stays on a local disk for the next epoch
    shards: int | None = None  # files that the data is packed into
    remote: bool | None = None  # the shards are not on a local disk
    shuffle_buffer: int | None = None  # items held back to be shuffled
    workers: int | None = None  # processes of its own
    read_threads: int | None = None  # threads of its own, per process
    prefetch_buffer: int | None = None  # elements held ready
