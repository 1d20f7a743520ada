"""Which kind of data fit was given: Keras' own adapters, no fit."""

import gc
import weakref

import numpy as np
import pytest

keras = pytest.importorskip("keras")
import tensorflow as tf  # noqa: E402
from keras.src.trainers import data_adapters  # noqa: E402

from feedwatch.hooks.destination import Destination  # noqa: E402
from feedwatch.hooks.keras.pipeline import PipelineReader, QueueGauge  # noqa: E402
from feedwatch.hooks.keras.python_iterator import PythonFetches  # noqa: E402
from feedwatch.hooks.run import WatchedRun  # noqa: E402
from feedwatch.measure.clock import SYSTEM_CLOCK  # noqa: E402
from feedwatch.measure.steps import StepReader  # noqa: E402
from feedwatch.model.report import Status  # noqa: E402
from feedwatch.settings import Settings  # noqa: E402
from tests.fakes.values import run_facts  # noqa: E402

X = np.ones((64, 8), "float32")


@pytest.fixture
def session():
    run = WatchedRun(run_facts(framework="keras"), Settings(console=False), Destination(None, ()), StepReader())
    yield run.session
    run.close(Status.FINISHED)


class EpochIterator:
    """What PipelineReader looks at in Keras' own."""

    def __init__(self, backend, **data):
        self.data_adapter = data_adapters.get_data_adapter(**data)
        if backend == "tensorflow":
            self._distributed_dataset = self.data_adapter.get_tf_dataset()


def reader_of(session, backend, fetches=None, **data):
    epoch_iterator = EpochIterator(backend, **data)
    return epoch_iterator, PipelineReader(epoch_iterator, backend, fetches, session)


def test_arrays_on_tensorflow_are_a_pipeline_that_keras_built(session):
    _keep, reader = reader_of(session, "tensorflow", x=X, y=X, batch_size=16)
    assert reader.samples_per_batch() == 16
    found = reader.read()
    assert found["pipeline"].kind == "arrays"
    assert found["pipeline"].tf_data.keras_prefetch is True
    assert found["batch"].size_bytes == 2 * 16 * 8 * 4


def test_a_dataset_of_the_users_is_read_on_every_backend(session):
    data = tf.data.Dataset.from_tensor_slices((X, X)).batch(4)
    for backend in ("tensorflow", "jax"):
        fetches = None if backend == "tensorflow" else PythonFetches([].append, SYSTEM_CLOCK.now_ns)
        _keep, reader = reader_of(session, backend, fetches, x=data)
        assert [stage.name for stage in reader.read()["pipeline"].stages] == ["FromTensorSlices", "Batch"]
        assert reader.samples_per_batch() == 4


def test_where_python_fetches_the_first_batch_and_the_mean_fetch_tell(session):
    fetches = PythonFetches([].append, SYSTEM_CLOCK.now_ns)
    _keep, reader = reader_of(session, "jax", fetches, x=X, y=X, batch_size=16)
    list(fetches.wrap(iter([(X[:16], X[:16]), (X[:16], X[:16])])))
    found = reader.read()
    assert found["batch"].size_bytes == 2 * 16 * 8 * 4
    assert found["pipeline"].load_ms == fetches.mean_ms()
    assert found["pipeline"].lanes == 1.0


def test_an_adapter_that_we_do_not_know_is_named(session):
    class Strange:
        data_adapter = None

    class StrangeAdapter:
        pass

    made = Strange()
    made.data_adapter = StrangeAdapter()
    found = PipelineReader(made, "jax", None, session).read()["pipeline"]
    assert (found.kind, found.unknown_because) == ("unknown", "feedwatch does not know StrangeAdapter")


def test_nothing_of_the_users_is_kept_and_after_the_end_nothing_is_read(session):
    keep, reader = reader_of(session, "jax", x=X, batch_size=16)
    gone = weakref.ref(keep.data_adapter)
    del keep
    gc.collect()
    assert gone() is None
    assert reader.read() is None
    _keep, reader = reader_of(session, "jax", x=X, batch_size=16)
    reader.end()
    assert reader.read() is None


def test_a_pydataset_is_described(session):
    class Data(keras.utils.PyDataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return X[:8], X[:8]

    _keep, reader = reader_of(session, "jax", PythonFetches([].append, SYSTEM_CLOCK.now_ns), x=Data(workers=1))
    found = reader.read()["pipeline"]
    assert (found.kind, found.pydataset.class_name, found.pydataset.workers) == ("pydataset", "Data", 1)
    assert found.settings["use_multiprocessing"] is False


class Fixed(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return X[:8], X[:8]


class Drawing(Fixed):
    def __getitem__(self, index):
        chosen = np.random.default_rng().integers(64, size=8)
        return X[chosen], X[chosen]


class Moving(Fixed):
    def on_epoch_end(self):
        self.order = None


@pytest.mark.parametrize(("kind", "changes"), [(Fixed, False), (Drawing, True), (Moving, True)])
def test_a_pydataset_whose_items_change_from_epoch_to_epoch_is_known(session, kind, changes):
    fetches = PythonFetches([].append, SYSTEM_CLOCK.now_ns)
    _keep, reader = reader_of(session, "jax", fetches, x=kind(workers=1))
    assert reader.read()["pipeline"].pydataset.batch_bytes is None
    list(fetches.wrap(iter([(X[:8], X[:8])])))
    found = reader.read()["pipeline"].pydataset
    assert (found.random, found.batch_bytes) == (changes, 2 * 8 * 8 * 4)


def test_a_torch_loader_is_watched_and_given_back(session):
    torch = pytest.importorskip("torch")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(32, 3)), batch_size=8)
    collate, fetches = loader.collate_fn, PythonFetches([].append, SYSTEM_CLOCK.now_ns)
    _keep, reader = reader_of(session, "torch", fetches, x=loader)
    assert loader.collate_fn is not collate
    iterator = iter(loader)
    reader.iterator(iterator)
    assert len(list(fetches.wrap(iterator))) == 4
    found = reader.read()
    assert found["pipeline"].loader.dataset_name == "TensorDataset"
    assert found["batch"].size_bytes == 8 * 3 * 4
    reader.end()
    assert loader.collate_fn is collate


class Result:
    def __init__(self, done):
        self.done = done

    def ready(self):
        return self.done

    successful = ready

    def get(self):
        return X[:8], X[:8]


class Enqueuer:
    """As far as the gauge looks: what is being made, and what is made."""

    def __init__(self, *done):
        from queue import Queue

        self.future_queue, self.ready_queue = Queue(), Queue()
        for each in done:
            self.future_queue.put(Result(each))


def test_only_finished_results_are_batches():
    busy, full = Enqueuer(False, False), Enqueuer(False, True)
    for enqueuer, share in ((busy, 0.0), (full, 1.0)):
        gauge = QueueGauge(enqueuer)
        assert gauge.ready_share is None
        gauge.look()
        assert gauge.ready_share == share
        assert (gauge.batch is not None) is (share > 0)
    assert gauge.batch.size_bytes == 2 * 8 * 8 * 4
