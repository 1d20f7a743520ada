"""The user's own input pipeline, read into plain facts. Rules know these values, never a framework object."""

from dataclasses import dataclass, field
from typing import NamedTuple

from feedwatch.model.stream import StreamFacts


@dataclass(frozen=True, slots=True)
class Stage:
    """One part of the pipeline, in the order data flows: the source first."""

    name: str  # Map, ParallelMap, Batch, Prefetch, Shuffle, Interleave, TFRecord, FromGenerator, …
    detail: str = ""  # what a person calls it: decode (train.py:31)
    ms_per_batch: float | None = None  # own time per batch, summed over its parallel calls
    parallelism: int | None = None  # now
    tunable: bool | None = None  # AUTOTUNE may change it
    buffer: float | None = None  # filled share of its buffer, 0..1
    share: float | None = None  # of the pipeline's time per batch
    bottleneck: bool = False


@dataclass(frozen=True, slots=True)
class WorkerTime:
    """One DataLoader worker (or enqueuer thread), per batch."""

    id: int
    batches: int
    fetch_ms: float | None  # reading the items
    collate_ms: float | None
    idle_share: float | None  # waiting for an index: the loader has nothing for it to do
    cpu_share: float | None = None  # of its busy time: computing
    core_wait_share: float | None = None  # of its busy time: ready, but no core was free
    blocked_share: float | None = None  # of its busy time: waiting for storage, network, a lock


class Made(NamedTuple):
    """A batch that a loader's worker made."""

    worker: int
    begin_ns: int
    end_ns: int
    batch: int  # its number in its epoch, from 1 on; 0: not known


@dataclass(frozen=True, slots=True)
class LoaderFacts:
    """A torch DataLoader."""

    num_workers: int
    prefetch_factor: int | None
    persistent_workers: bool
    pin_memory: bool
    batch_size: int | None
    class_name: str = "DataLoader"
    start_method: str | None = None
    iterable: bool = False
    batched_getitems: bool = False  # __getitems__: the dataset already indexes whole batches
    dataset_len: int | None = None
    dataset_name: str | None = None
    dataset_bytes: int | None = None  # tensors held by the dataset, where that can be seen
    in_memory: bool | None = None  # items are slices of tensors or arrays already in memory
    static_items: bool | None = None  # the same index gives the same bytes: no random augmentation was seen
    device_tensors: bool | None = None  # items or batches arrive on the device
    custom_collate: str | None = None  # its name, None for the default
    load_ms: float | None = None  # one batch, on one worker (or in the main process with none)
    item_ms: float | None = None  # median of one item
    item_p99_ms: float | None = None
    collate_ms: float | None = None  # per batch
    cpu_share: float | None = None  # of the workers' busy time, see WorkerTime
    core_wait_share: float | None = None
    blocked_share: float | None = None
    delivery_ms: float | None = None  # handing over one batch that is ready
    ready_share: float | None = None  # share of fetches that found a batch ready
    workers_repeat_items: bool | None = None  # iterable: different workers yielded the same first items
    workers: tuple[WorkerTime, ...] = field(default=())
    indices_mapping: bool | None = None  # Hugging Face datasets: rows are read one by one through a shuffled index
    dataset_format: str | None = None  # Hugging Face datasets: numpy, torch, …; "python" makes objects of every value
    dataset_shards: int | None = None  # files or shards of an iterable data set: more workers than these are idle
    one_rank_loads: bool | None = None  # rank 0 loads for all ranks and sends them their part (Accelerate's dispatcher)
    # What the user writes for a DataLoader's argument where a framework makes the loader: num_workers is
    # dataloader_num_workers in Hugging Face's TrainingArguments, whose own name is under "". Empty: the DataLoader's
    # own names.
    argument_names: dict[str, str] = field(default_factory=dict)
    call_site: str | None = None  # train.py:57, where the user made it; see hooks/call_site.py
    random_items: bool | None = None  # the data set's code draws random numbers; False: it was read and none were seen
    shards_itself: bool | None = None  # iterable: its code asks which worker it runs in
    shuffle: bool | None = None
    math_threads: int | None = None  # of the training process: what its own CPU work may take
    sampler_ms: float | None = None  # per batch, on the training thread: drawing the indices
    worker_extra_cpu_ms: float | None = None  # per batch, beside the fetch: pickling, and the queue's thread
    worker_rss_mb: float | None = None  # mean memory of a worker that it shares with nobody


@dataclass(frozen=True, slots=True)
class TfStage:
    """One tf.data stage as the user wrote it, with what tf.data's own model says about it."""

    op: str  # Map, ParallelMap, Batch, Prefetch, Shuffle, Cache, Interleave, ParallelInterleave, TFRecord, …
    function: str | None = None  # the user's function
    source: str | None = None  # train.py:31
    parallelism: int | None = None  # as written; None = serial, -1 = AUTOTUNE
    parallelism_now: int | None = None
    tunable: bool | None = None
    buffer_size: int | None = None  # as written, -1 = AUTOTUNE
    buffered: float | None = None  # elements in the buffer now
    batch_size: int | None = None
    python: bool | None = None  # PyFunc or EagerPyFunc inside
    random: bool | None = None  # random ops, or Python code that draws: its result must not be cached
    opens_files: bool | None = None  # reads a file per element
    elements: int | None = None  # produced so far
    ms_per_element: float | None = None
    ms_per_batch: float | None = None
    element_bytes: int | None = None  # one element as this stage hands it on; from the batch stage on, a whole batch
    batched: bool = False
    call_site: str | None = None  # train.py:57, the user's call of .map( or .batch(; see hooks/call_site.py


@dataclass(frozen=True, slots=True)
class TfDataFacts:
    stages: tuple[TfStage, ...]  # in the order data flows: the source first
    autotune: bool | None = None
    deterministic: bool | None = None
    cpu_budget: int | None = None  # tf.data's own
    elements_per_batch: int | None = None
    cardinality: int | None = None  # batches per epoch
    epoch_bytes: int | None = None  # one epoch's elements after the deterministic part, where their shapes are known
    from_memory: bool | None = None  # starts from in-memory tensors
    file_count: int | None = None
    keras_prefetch: bool = False  # Keras itself appended the last prefetch
    works_ahead: bool | None = None  # the last stage has a thread of its own (written, injected or fused)
    endless: bool | None = None  # the data before any repeat never ends: a cache would only grow
    service: str | None = None  # tf.data service does the work elsewhere: its processing mode


@dataclass(frozen=True, slots=True)
class PyDatasetFacts:
    class_name: str
    workers: int
    use_multiprocessing: bool
    max_queue_size: int
    ready_share: float | None = None  # share of the looks into the queue that found a batch ready
    item_ms: float | None = None  # one __getitem__, where seen
    random: bool | None = None  # items may differ from epoch to epoch; False: its code was read and draws nothing
    batch_bytes: int | None = None  # one batch, where seen
    sample_bytes: int | None = None  # one sample, where only the size of a batch is not known


@dataclass(frozen=True, slots=True)
class PipelineFacts:
    kind: str  # tf.data | dataloader | pydataset | generator | arrays | grain | iterable | unknown
    loader: LoaderFacts | None = None
    tf_data: TfDataFacts | None = None
    pydataset: PyDatasetFacts | None = None
    load_ms: float | None = None  # what the pipeline needs per batch even when prefetching hides it (one lane)
    lanes: float | None = None  # how many batches are made at the same time
    stages: tuple[Stage, ...] = field(default=())
    settings: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    unknown_because: str | None = None
    stream: StreamFacts | None = None
    opaque: str | None = None  # class of what could not be looked into, and why
    members: tuple[LoaderFacts, ...] = field(default=())  # several loaders that feed one step together, each by itself
