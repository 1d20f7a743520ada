"""Pasting a fix works: the snippet runs as it stands, with the user's own names around it."""

import itertools
import os
import re

import numpy as np
import pytest

from tests.rules.test_rules_on_cases import CASES, RULES, advise

# Changed keywords of the user's own DataLoader call, and data sets around the user's own.
CALLS = ("FW101", "FW102", "FW103", "FW104", "FW105", "FW108", "FW114", "FW117")
AROUND = ("FW106", "FW115", "FW140")
CODE = ("FW107", "FW109", "FW110", "FW112", "FW113", "FW116", "FW118", "FW119")
TF = ("FW120", "FW121", "FW122", "FW124", "FW125", "FW126", "FW127", "FW128", "FW132", "FW133", "FW134")
KERAS = ("FW130", "FW131")
# Their snippets change a keyword of the user's call and leave the rest as it is.
COMPILE = ("FW302", "FW309")


def findings(*codes):
    """One for every text that these rules say in their cases."""
    said = set()
    for rule in RULES:
        for name, case in CASES[rule.code].FIRES.items() if rule.code in codes else ():
            found = next(one for one in advise(case) if one.code == rule.code)
            if found.fix not in said:
                said.add(found.fix)
                yield pytest.param(found, id=f"{rule.code} {name}")


def fixes(*codes):
    return [pytest.param(one.values[0].fix.after, id=one.id) for one in findings(*codes)]


def paste(text, **names):
    exec(compile(text, "fix", "exec"), names)
    return names


# -- DataLoaders ----------------------------------------------------------------------------------------


def users_call(text, others="batch_size=8"):
    """The rest of the user's call in place of `...`. One worker shows as much as sixteen, in less time."""
    few = re.sub(r"num_workers=[1-9]\d*", "num_workers=1", text)
    workers = "" if "num_workers=" in few + others else ", num_workers=1"
    return few.replace("(..., ", f"(dataset, {others}{workers}, ").replace(", ..., ", f", {others}, ")


def data_sets():
    torch = pytest.importorskip("torch")
    values = torch.arange(32.0).reshape(16, 2)
    return {
        "tuples": [(values[index], index) for index in range(16)],
        "dicts": [{"x": values[index], "label": index} for index in range(16)],
        "ints": list(range(16)),
    }


def batches_of(text, dataset):
    torch = pytest.importorskip("torch")
    loader = paste(text, DataLoader=torch.utils.data.DataLoader, torch=torch, dataset=dataset)["loader"]
    return [str(batch) for batch in loader]


@pytest.mark.parametrize("shape", ["tuples", "dicts", "ints"])
@pytest.mark.parametrize("found", findings(*CALLS))
def test_a_changed_loader_gives_out_the_same_batches(found, shape):
    dataset = data_sets()[shape]
    before = batches_of("loader = DataLoader(dataset, batch_size=8)", dataset)
    after = batches_of(users_call(found.fix.after), dataset)
    assert before
    assert "code" not in found.alters
    assert sorted(after) == sorted(before)
    assert "order" in found.alters or after == before


@pytest.mark.parametrize("text", fixes(*AROUND))
def test_a_data_set_around_the_users_own_has_the_same_items(text):
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader, SequentialSampler, TensorDataset

    dataset = TensorDataset(torch.arange(128.0).reshape(64, 2), torch.arange(64))
    names = {"DataLoader": DataLoader, "torch": torch, "dataset": dataset, "sampler": SequentialSampler(dataset)}
    others = "batch_size=8" if "num_workers=" in text else "batch_size=8, num_workers=0"
    loader = paste(users_call(text, others), **names)["loader"]
    pairs = [(row.tolist(), int(label)) for rows, labels in loader for row, label in zip(rows, labels, strict=True)]
    assert sorted(pairs) == [([2.0 * index, 2.0 * index + 1], index) for index in range(64)]


@pytest.mark.parametrize("text", fixes(*CODE))
def test_code_that_is_pasted_runs(text):
    torch = pytest.importorskip("torch")
    dataset = data_sets()["tuples"]
    before = torch.get_num_threads(), torch.multiprocessing.get_sharing_strategy()
    names = {"DataLoader": torch.utils.data.DataLoader, "IterableDataset": torch.utils.data.IterableDataset}
    try:
        paste(users_call(text), torch=torch, itertools=itertools, os=os, dataset=dataset, steps=2, **names)
    finally:
        torch.set_num_threads(before[0])
        torch.multiprocessing.set_sharing_strategy(before[1])


@pytest.mark.parametrize("shape", ["tuples", "dicts"])
def test_a_collate_on_whole_tensors_gives_what_the_default_gives(shape):
    torch = pytest.importorskip("torch")
    (text, *_) = fixes("FW107")
    items = data_sets()[shape]
    made = paste(text.values[0], torch=torch)["pad_all"](items)
    assert str(made) == str(torch.utils.data.default_collate(items))


def test_a_collate_on_whole_tensors_pads_rows_of_different_lengths():
    torch = pytest.importorskip("torch")
    (text, *_) = fixes("FW107")
    made, labels = paste(text.values[0], torch=torch)["pad_all"]([(torch.ones(2), 0), (torch.ones(3), 1)])
    assert made.tolist() == [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    assert labels.tolist() == [0, 1]


@pytest.mark.parametrize("shape", ["tuples", "dicts", "ints"])
def test_converted_items_are_the_users_own_batches(shape):
    (text, *_) = fixes("FW115")
    dataset = data_sets()[shape]
    before = batches_of("loader = DataLoader(dataset, batch_size=8)", dataset)
    assert batches_of(users_call(text.values[0]), dataset) == before


def test_every_worker_of_an_iterable_takes_its_own_part():
    torch = pytest.importorskip("torch")
    (text, *_) = fixes("FW113")
    names = {"torch": torch, "IterableDataset": torch.utils.data.IterableDataset, "itertools": itertools}
    photos = paste(text.values[0], **names)["Photos"]()
    photos.items = range(8)
    loader = torch.utils.data.DataLoader(photos, num_workers=2, batch_size=None)
    assert sorted(loader) == list(range(8))


# -- tf.data ----------------------------------------------------------------------------------------------


def elements():
    tf = pytest.importorskip("tensorflow")
    numbers = tf.range(32)
    of = tf.data.Dataset.from_tensor_slices
    return {
        "ints": of(numbers),
        "tuples": of((tf.reshape(tf.range(64.0), (32, 2)), numbers)),
        "dicts": of({"image": tf.reshape(tf.range(64.0), (32, 2)), "label": numbers}),
    }


def given_out(text, dataset):
    tf = pytest.importorskip("tensorflow")

    def twice(*parts):
        """As people write it: labels and whatever else comes along are passed on."""
        first, *rest = parts
        if isinstance(first, dict):
            return {**first, "image": 2 * first["image"]}
        return (2 * first, *rest) if rest else 2 * first

    used = {"decode": twice, "function": twice, "read": twice, "names": dataset, "items": 4, "make_item": twice}
    made = paste(text, tf=tf, dataset=dataset, **used)["dataset"]
    return [str(sorted(one.items()) if isinstance(one, dict) else one) for one in made.as_numpy_iterator()]


@pytest.mark.parametrize("shape", ["ints", "tuples", "dicts"])
@pytest.mark.parametrize("found", [one for one in findings(*TF) if "dataset" in one.values[0].fix.after])
def test_a_changed_pipeline_gives_out_the_same_elements(found, shape, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dataset, before, after = elements()[shape], found.fix.before, found.fix.after
    if "from_generator" in before:
        assert given_out(after, dataset)
        return
    if found.code == "FW132":  # its own line is already in the fix
        before = "dataset = dataset.map(decode)"
    one, other = given_out(before, dataset), given_out(after, dataset)
    assert sorted(one) == sorted(other)
    assert "order" in found.alters or one == other


@pytest.mark.parametrize("text", fixes("FW123"))
def test_files_that_are_read_at_once_give_the_same_records(text, tmp_path):
    tf = pytest.importorskip("tensorflow")
    files = [str(tmp_path / f"{number}.tfrecord") for number in range(3)]
    for number, file in enumerate(files):
        with tf.io.TFRecordWriter(file) as writer:
            for part in range(4):
                writer.write(f"{number} {part}".encode())
    records = sorted(paste(text, tf=tf, files=files)["dataset"].as_numpy_iterator())
    assert records == [f"{number} {part}".encode() for number in range(3) for part in range(4)]


def test_retracing_is_fixed_by_batches_of_one_size():
    tf = pytest.importorskip("tensorflow")
    (text, *_) = fixes("FW303")
    assert list(paste(text.values[0], tf=tf, dataset=tf.data.Dataset.range(64))["dataset"])


# -- Keras ------------------------------------------------------------------------------------------------


def test_kept_batches_are_those_of_the_users_own_data_set():
    keras = pytest.importorskip("keras")
    text = next(one.values[0] for one in fixes("FW126") if "class Kept" in one.values[0])
    made = []

    class Photos(keras.utils.PyDataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            made.append(index)
            return np.full((2, 3), index), np.full(2, index)

    kept = paste(text, keras=keras, data=Photos())["data"]
    for _ in range(2):
        assert [float(labels[0]) for _, labels in (kept[index] for index in range(len(kept)))] == [0.0, 1.0, 2.0, 3.0]
    assert made == [0, 1, 2, 3]


def test_rows_in_their_new_order_are_the_same_rows():
    datasets = pytest.importorskip("datasets")
    (text, *_) = fixes("FW141")
    shuffled = datasets.Dataset.from_dict({"x": list(range(20))}).shuffle(seed=1)
    flat = paste(text.values[0], dataset=shuffled)["dataset"]
    assert flat["x"] == shuffled["x"]


@pytest.mark.parametrize("text", fixes(*KERAS))
def test_a_fix_for_keras_runs(text):
    keras = pytest.importorskip("keras")

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


def filled(text, arguments):
    """`...` stands for what the user wrote there."""
    assert "(..." in text
    return text.replace("(..., ", f"({arguments}, ")


def compiled_with(text):
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    paste(filled(text, '"sgd", "mse", metrics=["mae"]'), keras=keras, model=model)
    return model


def fit(model):
    draws = np.random.default_rng(0)
    history = model.fit(
        draws.normal(size=(64, 3)), draws.normal(size=64), batch_size=2, epochs=2, shuffle=False, verbose=0
    )
    return history.history


@pytest.mark.parametrize("text", fixes(*COMPILE))
def test_a_changed_compile_call_trains_and_keeps_its_metrics(text):
    history = fit(compiled_with(text))
    assert {"loss", "mae"} <= set(history)


def test_several_steps_per_call_train_the_same_weights():
    keras = pytest.importorskip("keras")
    (text, *_) = (one.values[0] for one in fixes("FW309"))
    weights = []
    for code in ("model.compile(..., steps_per_execution=1)", text):
        keras.utils.set_random_seed(0)
        model = compiled_with(code)
        fit(model)
        weights.append(model.get_weights())
    for one, ten in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, ten)


@pytest.mark.parametrize("text", fixes("FW304", "FW311", "FW306"))
def test_an_argument_that_is_advised_exists(text):
    """The frameworks refuse arguments that they do not know."""
    if "..." not in text or text.startswith("def "):
        compile(text, "fix", "exec")
        return
    call = text.partition(" = ")[2] or text
    if "model.fit" in call:
        model = compiled_with("model.compile(..., steps_per_execution=1)")
        data = "inputs, targets, validation_data=(inputs, targets), epochs=2, verbose=0"
        paste(filled(call, data), model=model, inputs=np.zeros((4, 3)), targets=np.zeros(4))
    elif "keras." in call:
        keras = pytest.importorskip("keras")
        first = '"model.keras"' if "Checkpoint" in call else '"logs"'
        paste(filled(call, first), keras=keras)
    else:
        lightning = pytest.importorskip("lightning.pytorch")
        names = {"Trainer": lightning.Trainer, "ModelCheckpoint": lightning.callbacks.ModelCheckpoint}
        # bf16 and 16 bits on a CPU only warn.
        arguments = (
            'accelerator="cpu", logger=False, enable_checkpointing=False' if "Trainer" in call else "save_top_k=1"
        )
        paste(filled(call, arguments), **names)


def test_a_resident_data_set_is_indexed_where_it_is():
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader, TensorDataset

    text = next(one.values[0] for one in fixes("FW207") if "TensorDataset" in one.values[0])
    dataset = TensorDataset(torch.arange(64.0).reshape(64, 1), torch.arange(64))
    names = paste(text.replace('"cuda"', '"cpu"'), DataLoader=DataLoader, dataset=dataset)
    seen = torch.cat([targets for _, targets in names["loader"]])
    assert sorted(seen.tolist()) == list(range(64))


def test_packed_parts_are_the_parts_again():
    torch = pytest.importorskip("torch")
    (text, *_) = (one.values[0] for one in fixes("FW205"))
    batch = {"a": torch.arange(6.0).reshape(3, 2), "b": torch.arange(3.0).reshape(3, 1)}
    parts = paste(text, torch=torch, batch=batch, device="cpu")["parts"]
    for name, part in batch.items():
        assert torch.equal(parts[name], part)


def test_the_collector_is_frozen_and_thawed():
    import gc

    (text, *_) = (one.values[0] for one in fixes("FW310"))
    paste(text)
    try:
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("text", fixes("FW308"))
def test_compiled_programs_are_kept_where_only_the_user_writes(text):
    assert "/tmp" not in text
    compile(text, "fix", "exec")
