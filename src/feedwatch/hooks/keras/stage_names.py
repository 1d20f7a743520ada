"""One vocabulary for tf.data's three: Python classes, graph ops and the nodes of its performance model."""

import re
from typing import Final

_SAME: Final = {
    "TensorSlice": "FromTensorSlices",
    "Tensor": "FromTensors",
    "FromTensor": "FromTensors",
    "ForeverRepeat": "Repeat",
    "FiniteRepeat": "Repeat",
    "EmptyRepeat": "Repeat",
    "FiniteTake": "Take",
    "EmptyTake": "Take",
    "FiniteSkip": "Skip",
    "EmptySkip": "Skip",
    "MemoryCache": "Cache",
    "MemoryCacheImpl": "Cache",
    "FileCache": "Cache",
    "ShuffleReshuffle": "Shuffle",
    "Generator": "FromGenerator",
    "TFRecordDataset": "TFRecord",
    "ParallelFilter": "Filter",
    "LegacyParallelInterleave": "ParallelInterleave",
}

# tf.data's optimiser fuses these; named in the order of the user's calls.
FUSED: Final = {
    "MapAndBatch": ("Map", "Batch"),
    "ShuffleAndRepeat": ("Shuffle", "Repeat"),
    "MapAndFilter": ("Map", "Filter"),
}

# Stages that only pass elements on: the optimiser may drop them and no time is spent in them.
PASSING: Final = frozenset(
    {"Options", "Repeat", "Take", "Skip", "AssertCardinality", "AssertNext", "Restructured", "Model", "Root", "Variant",
     "Rebatch", "Shard", "MaxIntraOpParallelism", "PrivateThreadPool", "FinalizeDataset", "DenseToRagged"}
)  # fmt: skip

# Each of these works ahead on threads of its own: what lies before and after it overlaps.
DECOUPLING: Final = frozenset({"Prefetch", "ParallelMap", "ParallelInterleave", "ParallelBatch", "MapAndBatch"})

# Each of these makes datasets of its own while it runs; their time is its time.
NESTING: Final = frozenset({"FlatMap", "Interleave", "ParallelInterleave"})

READERS: Final = frozenset({"TFRecord", "TextLine", "FixedLengthRecord", "Csv", "CSV", "Sqlite"})
IN_MEMORY: Final = frozenset({"FromTensorSlices", "FromTensors"})


def plain_name(name: str) -> str:
    """_ParallelMapDataset, ParallelMapDatasetV2 and ParallelMapV2 are all ParallelMap."""
    short = re.sub(r"(Dataset)?(V\d+)?$", "", name.lstrip("_"))
    return _SAME.get(short, short)


def same_kind(user_op: str, model_op: str) -> bool:
    """The optimiser may make a stage parallel; it stays the same stage."""
    if user_op in READERS:  # a reader of several files is a flat_map or interleave over their names
        return model_op == user_op or model_op in NESTING
    if user_op == "FromGenerator":
        return model_op in (user_op, "FlatMap")
    if user_op in ("PaddedBatch", "RaggedBatch"):
        return model_op.endswith("Batch")
    return user_op.removeprefix("Parallel") == model_op.removeprefix("Parallel")
