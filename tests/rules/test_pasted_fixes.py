"""Pasting a fix works: the snippet runs as it stands, with the user's own names around it."""

import pytest

from tests.rules.test_rules_on_cases import CASES, RULES, advise

TORCH = ("FW101", "FW102", "FW103", "FW104", "FW105", "FW106", "FW107", "FW108", "FW113")
TF = ("FW120", "FW121", "FW122", "FW123", "FW125", "FW126", "FW128", "FW303")
KERAS = ("FW130", "FW131", "FW302")


def fixes(*codes):
    for rule in RULES:
        if rule.code in codes:
            for name, case in CASES[rule.code].FIRES.items():
                found = next(one for one in advise(case).findings if one.code == rule.code)
                yield pytest.param(found.fix.after, id=f"{rule.code} {name}")


def paste(text, **names):
    exec(compile(text, "fix", "exec"), names)
    return names


@pytest.mark.parametrize("text", fixes(*TORCH))
def test_a_fix_for_a_data_loader_runs(text):
    torch = pytest.importorskip("torch")
    import itertools

    from torch.utils.data import DataLoader, IterableDataset, TensorDataset

    dataset = TensorDataset(torch.zeros(64, 3), torch.zeros(64))
    names = paste(
        text, DataLoader=DataLoader, IterableDataset=IterableDataset, dataset=dataset, torch=torch, itertools=itertools
    )
    if names.get("loader") is not None and names["loader"].num_workers == 0:
        assert sum(len(targets) for _, targets in names["loader"]) == 64


@pytest.mark.parametrize("text", fixes(*TF))
def test_a_fix_for_tf_data_runs(text, tmp_path):
    tf = pytest.importorskip("tensorflow")

    def unchanged(value):
        return value

    file = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(file) as writer:
        writer.write(b"record")
    names = {
        "tf": tf,
        "dataset": tf.data.Dataset.range(64),
        "decode": unchanged,
        "function": unchanged,
        "files": [file],
    }
    assert list(paste(text, **names)["dataset"])


@pytest.mark.parametrize("text", fixes(*KERAS))
def test_a_fix_for_keras_runs(text):
    keras = pytest.importorskip("keras")
    import numpy as np

    class Photos(keras.utils.PyDataset):
        def __len__(self):
            return 4

    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    names = {
        "keras": keras,
        "model": model,
        "data": Photos(),
        "steps": 4,
        "make_batch": lambda _index: (np.zeros((2, 3)), np.zeros(2)),
    }
    # Processes would have to import this module again; what is tried here is the text.
    names = paste(text.replace("use_multiprocessing=True", "use_multiprocessing=False"), **names)
    if "data.workers" in text:
        assert names["data"].workers > 1
