"""One name per kind of stage. tf.data itself has three: of the Python class, the graph op and the model's node."""

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

# tf.data's optimiser makes one stage of two. The parts are in the order of the user's calls.
FUSED: Final = {
    "MapAndBatch": ("Map", "Batch"),
    "ShuffleAndRepeat": ("Shuffle", "Repeat"),
    "MapAndFilter": ("Map", "Filter"),
}

# Stages that only pass elements on. They take no time, and the optimiser may drop them.
PASSING: Final = frozenset(
    {"Options", "Repeat", "Take", "Skip", "AssertCardinality", "AssertNext", "Restructured", "Model", "Root", "Variant",
     "Rebatch", "Shard", "MaxIntraOpParallelism", "PrivateThreadPool", "FinalizeDataset", "DenseToRagged"}
)  # fmt: skip

# Stages that work ahead on threads of their own: what lies before one of them overlaps with what lies after it.
DECOUPLING: Final = frozenset({"Prefetch", "ParallelMap", "ParallelInterleave", "ParallelBatch", "MapAndBatch"})

# Stages that open datasets of their own while they run. The time of these datasets is theirs.
NESTING: Final = frozenset({"FlatMap", "Interleave", "ParallelInterleave"})

TAKE_FUNCTIONS: Final = NESTING | {"Map", "ParallelMap", "Filter", "FromGenerator"}

# What the user writes to get a stage.
CALLS: Final = {
    "Map": "map",
    "ParallelMap": "map",
    "Filter": "filter",
    "FlatMap": "flat_map",
    "Interleave": "interleave",
    "ParallelInterleave": "interleave",
    "Batch": "batch",
    "ParallelBatch": "batch",
    "PaddedBatch": "padded_batch",
    "Shuffle": "shuffle",
    "Prefetch": "prefetch",
    "Cache": "cache",
    "Repeat": "repeat",
    "FromGenerator": "from_generator",
    "FromTensorSlices": "from_tensor_slices",
    "TFRecord": "TFRecordDataset",
}

READERS: Final = frozenset({"TFRecord", "TextLine", "FixedLengthRecord", "Csv", "CSV", "Sqlite"})
IN_MEMORY: Final = frozenset({"FromTensorSlices", "FromTensors"})


def plain_name(name: str) -> str:
    """_ParallelMapDataset, ParallelMapDatasetV2 and ParallelMapV2 are all ParallelMap."""
    short = re.sub(r"(Dataset)?(V\d+)?$", "", name.lstrip("_"))
    return _SAME.get(short, short)


def same_kind(user_op: str, model_op: str) -> bool:
    """The optimiser may make a stage parallel: it is still the same stage."""
    if user_op in READERS:  # tf.data builds a reader of several files as a flat_map or interleave over their names
        return model_op == user_op or model_op in NESTING
    if user_op == "FromGenerator":
        return model_op in (user_op, "FlatMap")
    if user_op in ("PaddedBatch", "RaggedBatch"):
        return model_op.endswith("Batch")
    return user_op.removeprefix("Parallel") == model_op.removeprefix("Parallel")
