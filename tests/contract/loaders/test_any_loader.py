"""Real loaders of other libraries in a loop of one's own: the same batches, the same weights, nothing left behind, and
what could be read of them.
"""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from feedwatch.hooks.torch.unwrap import unwrap
from feedwatch.model.report import Status
from feedwatch.torch import FeedWatch

pytestmark = pytest.mark.loaders


class Items(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.full((3,), float(index)), torch.rand(1)


def plain(**more):
    return DataLoader(Items(), batch_size=4, shuffle=True, **more)


def fabric(tmp_path):
    from lightning.fabric import Fabric

    return Fabric(accelerator="cpu", devices=1).setup_dataloaders(plain())


def accelerate_shard(tmp_path):
    from accelerate import Accelerator

    return Accelerator(cpu=True).prepare(plain(num_workers=2))


def accelerate_dispatcher(tmp_path):
    from accelerate.data_loader import DataLoaderDispatcher

    return DataLoaderDispatcher(Items(), batch_size=4)


def stateful(tmp_path):
    from torchdata.stateful_dataloader import StatefulDataLoader

    return StatefulDataLoader(Items(), batch_size=4, shuffle=True)


def nodes(tmp_path):
    from torchdata.nodes import Batcher, IterableWrapper, Loader, ParallelMapper, Prefetcher

    mapped = ParallelMapper(IterableWrapper(range(24)), lambda each: torch.full((3,), float(each)), 2, method="thread")
    batched = ParallelMapper(Batcher(mapped, 4), torch.stack, 1, method="thread")
    return Loader(Prefetcher(batched, prefetch_factor=3))


def monai(tmp_path):
    from monai.data import CacheDataset, ThreadDataLoader

    data = CacheDataset([{"x": np.full(3, each, np.float32)} for each in range(24)], [], progress=False)
    return ThreadDataLoader(data, batch_size=4, num_workers=0, shuffle=True)


def hub(tmp_path):
    from datasets import Dataset as HubDataset

    rows = HubDataset.from_dict({"x": [[float(each)] * 3 for each in range(24)]}).shuffle(seed=1).with_format("torch")
    return DataLoader(rows, batch_size=4)


def hub_stream(tmp_path):
    from datasets import Dataset as HubDataset

    rows = HubDataset.from_dict({"x": [[float(each)] * 3 for each in range(24)]})
    return DataLoader(rows.to_iterable_dataset(num_shards=3).with_format("torch"), batch_size=4)


def shards(tmp_path):
    import webdataset

    for shard in range(3):
        with webdataset.TarWriter(str(tmp_path / f"{shard}.tar")) as tar:
            for each in range(8):
                values = np.full(3, shard * 8 + each, np.float32)
                tar.write({"__key__": f"{shard}-{each}", "x.npy": values})
    urls = [str(tmp_path / f"{shard}.tar") for shard in range(3)]
    return webdataset.WebDataset(urls, shardshuffle=False).shuffle(10, seed=1).decode().to_tuple("x.npy").batched(4)


def web_loader(tmp_path):
    import webdataset

    return webdataset.WebLoader(shards(tmp_path), batch_size=None, num_workers=0)


def litdata(tmp_path):
    from litdata import StreamingDataLoader, StreamingDataset
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(str(tmp_path / "lit"), chunk_size=8)
    for each in range(24):
        writer[each] = torch.full((3,), float(each))
    writer.done()
    writer.merge()
    return StreamingDataLoader(StreamingDataset(str(tmp_path / "lit"), max_pre_download=5), batch_size=4, num_workers=0)


def grain(tmp_path):
    import grain.python as grain

    data = grain.MapDataset.range(24).map(lambda each: np.full(3, each, np.float32)).batch(4)
    return data.to_iter_dataset(grain.ReadOptions(num_threads=3, prefetch_buffer_size=7))


def combined(tmp_path):
    from lightning.pytorch.utilities import CombinedLoader

    return Triples(CombinedLoader({"a": plain(), "b": DataLoader(Items(), batch_size=2)}, "min_size"))


def combined_with_workers(tmp_path):
    from lightning.pytorch.utilities import CombinedLoader

    return Triples(CombinedLoader([plain(num_workers=1), DataLoader(Items(), batch_size=2)], "min_size"))


def ray_data(tmp_path):
    import ray

    ray.init(num_cpus=1, ignore_reinit_error=True, include_dashboard=False, log_to_driver=False)
    return ray.data.range(24).iterator().iter_torch_batches(batch_size=4)


def mosaic(tmp_path):
    from streaming import MDSWriter, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    with MDSWriter(out=str(tmp_path / "mds"), columns={"x": "ndarray:float32:3"}, size_limit=200) as out:
        for each in range(24):
            out.write({"x": np.full(3, each, np.float32)})
    clean_stale_shared_memory()
    rows = StreamingDataset(local=str(tmp_path / "mds"), batch_size=4, shuffle=True, predownload=16, cache_limit="9mb")
    return DataLoader(rows, batch_size=4)


def dali(tmp_path):
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    def row(info):
        if info.iteration == 6:
            raise StopIteration
        return np.full(3, 4 * info.iteration + info.idx_in_batch, np.float32)

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, prefetch_queue_depth=3)
    def rows():
        return fn.external_source(source=row, batch=False, dtype=types.FLOAT)

    return DALIGenericIterator([rows()], ["x"], auto_reset=True)


def progress_bar(tmp_path):
    from tqdm import tqdm

    return tqdm(plain(), disable=True)


class Triples:
    """CombinedLoader yields (batch, number of the batch, number of the loader)."""

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        return (batch for batch, _, _ in iter(self.loader))


# library, what builds the loader, and what must be known of it afterwards
LOADERS = [
    ("lightning", fabric, lambda p: p.loader.class_name == "DataLoader" and p.loader.load_ms is not None),
    ("accelerate", accelerate_shard, lambda p: p.loader.one_rank_loads is False and len(p.loader.workers) == 2),
    ("accelerate", accelerate_dispatcher, lambda p: p.settings["one_rank_loads"] is True),
    ("torchdata", stateful, lambda p: p.loader.class_name == "StatefulDataLoader"),
    ("torchdata", nodes, lambda p: (p.stream.library, p.stream.read_threads, p.stream.prefetch_buffer)
     == ("torchdata", 2, 3) and p.opaque == "torchdata.nodes, whose own times are not measured"),
    ("monai", monai, lambda p: p.loader.class_name == "ThreadDataLoader" and p.loader.dataset_name == "CacheDataset"),
    ("datasets", hub, lambda p: p.loader.indices_mapping is True and p.settings["format"] == "torch"),
    ("datasets", hub_stream, lambda p: p.loader.dataset_shards == 3 and p.loader.iterable),
    ("webdataset", shards, lambda p: (p.stream.shards, p.stream.remote, p.stream.shuffle_buffer) == (3, False, 10)),
    ("webdataset", web_loader, lambda p: p.stream.shards == 3 and p.loader.dataset_name == "WebDataset"),
    ("litdata", litdata, lambda p: (p.stream.predownload, p.stream.shards, p.stream.remote) == (5, 3, False)),
    ("grain", grain, lambda p: (p.kind, p.stream.read_threads, p.stream.prefetch_buffer) == ("grain", 3, 7)),
    ("lightning", combined, lambda p: [each.batch_size for each in p.members] == [4, 2]
     and "not measured per batch" in p.settings["loader_2"]),
    ("lightning", combined_with_workers, lambda p: p.settings["loaders"] == 2
     and p.settings["loader_1"].startswith("Items: 1 worker, ") and "not measured" not in p.settings["loader_2"]),
    ("ray", ray_data, lambda p: p.opaque == "Ray Data, whose own times are not measured"),
    ("streaming", mosaic, lambda p: (p.stream.predownload, p.stream.cache_limit_bytes, p.stream.remote)
     == (16, 9 << 20, False) and p.stream.shards > 1 and p.loader.batch_size == 4),
    ("nvidia.dali", dali, lambda p: (p.stream.read_threads, p.stream.prefetch_buffer) == (2, 3)
     and p.opaque == "NVIDIA DALI, whose own times are not measured"),
    ("tqdm", progress_bar, lambda p: p.loader.batch_size == 4 and p.opaque is None),
]  # fmt: skip


def numbers(value):
    """Everything in a batch, as flat numbers."""
    if isinstance(value, dict):
        return [each for key in sorted(value) for each in numbers(value[key])]
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in numbers(part)]
    return np.asarray(value, np.float32).ravel().tolist()


def train(batches):
    torch.manual_seed(3)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    seen = []
    for _ in range(2):
        for batch in batches:
            seen.append(numbers(batch))
            optimizer.zero_grad()
            model(torch.tensor(seen[-1]).reshape(-1, 1)).mean().backward()
            optimizer.step()
    return seen, [parameter.tolist() for parameter in model.parameters()], torch.rand(3).tolist()


def snapshot(loader):
    """Of the loader and of every DataLoader inside it."""
    return [
        {name: id(value) for name, value in vars(each).items() if name in ("collate_fn", "dataset", "sampler")}
        for each in (loader, *unwrap(loader).loaders)
    ]


def needs(library, tmp_path):
    pytest.importorskip(library)
    for name in ("bare", "watched"):
        (tmp_path / name).mkdir()


NAMES = [each[1].__name__ for each in LOADERS]


@pytest.mark.parametrize(("library", "make", "known"), LOADERS, ids=NAMES)
def test_a_loader_gives_the_same_batches_and_tells_what_it_is(tmp_path, library, make, known):
    needs(library, tmp_path)
    torch.manual_seed(1)
    bare = train(make(tmp_path / "bare"))
    torch.manual_seed(1)
    loader = make(tmp_path / "watched")
    before = snapshot(loader)
    with FeedWatch(tmp_path / "runs", console=False) as watch:
        watched = train(watch(loader))
        facts = watch._run.session
    assert watched == bare
    assert snapshot(loader) == before
    assert watch.report.steps.batches == len(bare[0])
    assert known(facts.facts.pipeline), facts.facts.pipeline


def left_and_failed(batches, error):
    """A loop that is left, a whole one, and one that fails: what was seen, and the next random draw."""
    torch.manual_seed(3)
    seen = []

    def loops():
        for last in (2, None, 3):
            for number, batch in enumerate(batches, start=1):
                seen.append(numbers(batch))
                if number == last == 2:
                    break
                if number == last:
                    raise error

    with pytest.raises(type(error)) as caught:
        loops()
    assert caught.value is error
    return seen, torch.rand(3).tolist()


@pytest.mark.parametrize(("library", "make"), [each[:2] for each in LOADERS], ids=NAMES)
def test_a_loop_that_is_left_or_fails_goes_as_it_does_alone(tmp_path, library, make):
    needs(library, tmp_path)
    error = KeyboardInterrupt() if make is progress_bar else ValueError("theirs")
    torch.manual_seed(1)
    bare = left_and_failed(make(tmp_path / "bare"), error)
    torch.manual_seed(1)
    loader = make(tmp_path / "watched")
    before = snapshot(loader)
    watch = FeedWatch(tmp_path / "runs", console=False)
    assert left_and_failed(watch(loader), error) == bare
    watch.close(Status.FAILED)
    assert snapshot(loader) == before
    assert watch.report.steps.batches == len(bare[0]) - 1  # the step that failed was not trained


def test_what_cannot_be_looked_into_is_named(tmp_path):
    with FeedWatch(tmp_path, console=False) as watch:
        list(watch(range(3)))
    pipeline = watch._run.session.facts.pipeline
    assert pipeline.kind == "iterable"
    assert pipeline.opaque.startswith("range: no DataLoader was found inside it")
