"""What the code of a loader's data set tells: random items, sharding, and where the user made the loader.

Read on the sink's thread, once; nothing is called.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from torch.utils.data import BatchSampler, IterableDataset, RandomSampler, SequentialSampler

from feedwatch.hooks.call_site import only_call_site, user_files
from feedwatch.hooks.python_code import changes_between_epochs, entry_points, mentions

TRANSFORMS: Final = ("transform", "transforms", "target_transform")
_READS: Final = ("__getitem__", "__getitems__", "__iter__")
_SHARDS: Final = re.compile(r"^(get_worker_info|split_by_worker|sharding_filter)$")


@dataclass(frozen=True, slots=True)
class DataCode:
    random_items: bool | None = None
    shards_itself: bool | None = None
    call_site: str | None = None


def read_code(dataset: Any, loader_class: str) -> DataCode:
    reads = [entry for entry in entry_points(dataset) if entry.__name__ in _READS]
    held = getattr(dataset, "__dict__", {})
    transforms = [held[name] for name in TRANSFORMS if held.get(name) is not None]
    return DataCode(
        random_items=changes_between_epochs(*reads, *transforms) if reads else None,
        shards_itself=mentions(_SHARDS, *reads) if isinstance(dataset, IterableDataset) else None,
        call_site=only_call_site(loader_class, user_files(dataset)),
    )


def shuffles(loader: Any) -> bool | None:
    """None: the order is the user's own, or the data set's."""
    batches = getattr(loader, "batch_sampler", None)
    if isinstance(getattr(loader, "dataset", None), IterableDataset) or type(batches) not in (BatchSampler, type(None)):
        return None
    sampler = getattr(loader, "sampler", None) if batches is None else batches.sampler
    if isinstance(sampler, (RandomSampler, SequentialSampler)):
        return isinstance(sampler, RandomSampler)
    asked = getattr(sampler, "shuffle", None)  # DistributedSampler
    return asked if isinstance(asked, bool) else None
