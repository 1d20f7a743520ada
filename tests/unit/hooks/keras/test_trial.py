"""Who writes and who does not. Trials of real fits are in tests/contract/test_trials.py."""

import pytest

keras = pytest.importorskip("keras")

from feedwatch.hooks.keras.trial import ENDS, Feeds, PoolPlan, StepsOnly, _batch_of, without_writers  # noqa: E402
from feedwatch.settings import TrialWish  # noqa: E402
from feedwatch.trial.variant import Refused  # noqa: E402


class Own(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.heard = []

    def on_train_batch_end(self, batch, logs=None):
        self.heard.append(batch)

    def on_epoch_end(self, epoch, logs=None):
        raise AssertionError("it would write")

    on_train_end = on_epoch_end


class OwnCheckpoints(keras.callbacks.ModelCheckpoint):
    pass


def test_what_writes_is_left_out_and_the_rest_hears_of_steps_only(tmp_path):
    own, steady = Own(), keras.callbacks.EarlyStopping()
    given = [
        keras.callbacks.ModelCheckpoint(tmp_path / "a.keras"),
        OwnCheckpoints(tmp_path / "b.keras"),
        keras.callbacks.CSVLogger(tmp_path / "log.csv"),
        keras.callbacks.TensorBoard(tmp_path),
        keras.callbacks.BackupAndRestore(tmp_path / "backup"),
        own,
        steady,
    ]
    kept = without_writers(given)
    assert kept[1] is steady
    assert isinstance(kept[0], StepsOnly)
    assert len(kept) == 2
    kept[0].on_train_batch_end(3)
    assert own.heard == [3]
    for name in ENDS:
        getattr(kept[0], name)(0)
    assert without_writers([own], own) == [own]


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return [index]


class Adapter:
    class_weight, shuffle, _output_signature = None, False, "spec"

    def __init__(self, py_dataset, class_weight=None, shuffle=False):
        self.py_dataset = py_dataset


def test_a_pydataset_gets_threads_and_then_processes():
    rows = Rows(workers=1)
    plan = PoolPlan(Adapter(rows), None, TrialWish(), 2.0, forks=True)
    threads, processes = plan._pool(4, processes=False), plan._pool(2, processes=True)
    assert (threads.name, processes.name) == ("workers=4, threads", "workers=2, processes")
    made = plan.adapter(threads)
    assert (made.py_dataset.workers, made.py_dataset.use_multiprocessing, made._output_signature) == (4, False, "spec")
    assert rows.workers == 1
    assert plan.adapter(processes).py_dataset.use_multiprocessing
    assert "data.workers = 4" in plan.fix(threads).after
    with pytest.raises(Refused, match="JAX"):
        PoolPlan(Adapter(rows), None, TrialWish(), 2.0, forks=False).adapter(processes)
    assert (
        PoolPlan(Adapter(rows), None, TrialWish(only=("FW101",)), 2.0, forks=True).search().next({}, frozenset())
        is None
    )


def test_on_tensorflow_a_source_hands_out_its_iterator():
    made = iter([1])
    feeds = Feeds(lambda: made, function="f")
    feed = feeds.next()
    assert feed.iterator is made
    assert feed.function == "f"
    assert feeds.next().iterator is made


def test_the_ceilings_batch_is_found_also_at_the_end_of_an_epoch():
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensors(7)
    feeds = Feeds(lambda: iter(data), iter(data))
    assert [int(_batch_of(feeds)), int(_batch_of(feeds))] == [7, 7]
