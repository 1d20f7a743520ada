"""One row per thing that `fit` accepts. A case returns (model, keyword arguments of fit); its run is repeated exactly."""

import os
import tempfile
import time

import keras
import numpy as np

from tests.contract.keras import models

X = np.random.default_rng(0).random((96, 8)).astype("float32")
Y = X.sum(axis=1, keepdims=True)
LABELS = (np.arange(96) % 3).astype("int32")

GROUPS = {"tensorflow": {}, "two_devices": {}, "determinism": {}, "torch": {}, "jax": {}}


def case(*groups):
    def register(function):
        for group in groups:
            GROUPS[group][function.__name__] = function
        return function

    return register


def dataset(batch=8, shuffle=True):
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices((X, Y))
    return (data.shuffle(32) if shuffle else data).batch(batch)


class Items(keras.utils.PyDataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return X[8 * index : 8 * index + 8], Y[8 * index : 8 * index + 8]


def generator(batches):
    for index in range(batches):
        at = index % 12 * 8
        yield X[at : at + 8], Y[at : at + 8]


@case("tensorflow", "torch", "jax")
def arrays():
    return models.dense(), {"x": X, "y": Y, "batch_size": 10, "epochs": 3}


@case("tensorflow", "torch", "jax")
def tf_data_with_shuffle_and_dropout():
    return models.dense(), {"x": dataset(), "epochs": 3}


@case("tensorflow", "torch", "jax")
def generator_that_ends():
    return models.dense(), {"x": generator(15), "epochs": 1, "vain": 1}


@case("tensorflow", "torch", "jax")
def generator_with_steps():
    return models.dense(), {"x": generator(1000), "epochs": 2, "steps_per_epoch": 9}


@case("tensorflow", "torch", "jax")
def pydataset():
    return models.dense(), {"x": Items(), "epochs": 2, "shuffle": False}


class QueuedAtOnce(Items):
    """Keras looks at one batch before it trains and hands what else was queued by then to the first epoch: how much that
    is would be a race in Keras itself, without us too. Here it is always all.
    """

    def __init__(self):
        super().__init__(workers=4, max_queue_size=len(self))

    def __getitem__(self, index):
        if index == 0:
            time.sleep(0.05)
        return super().__getitem__(index)


@case("tensorflow", "torch", "jax")
def pydataset_with_four_workers():
    return models.dense(), {"x": QueuedAtOnce(), "epochs": 2, "shuffle": False}


@case("tensorflow")
def pydataset_with_processes():
    return models.dense(), {"x": Items(workers=2, use_multiprocessing=True), "epochs": 2, "shuffle": False}


@case("tensorflow")
def dict_inputs_with_sample_weights():
    x = {"left": X, "right": X[:, :4]}
    return models.two_inputs(), {"x": x, "y": Y, "sample_weight": Y[:, 0], "epochs": 2}


@case("tensorflow", "torch")
def class_weights():
    return models.classifier(), {"x": X, "y": LABELS, "class_weight": {0: 1.0, 1: 2.0, 2: 0.5}, "epochs": 2}


@case("tensorflow")
def class_weights_with_tf_data():
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices((X, LABELS)).batch(8)
    return models.classifier(), {"x": data, "class_weight": {0: 1.0, 1: 2.0, 2: 0.5}, "epochs": 2}


@case("tensorflow")
def ragged_inputs():
    import tensorflow as tf

    rows = tf.ragged.constant([[i / 96.0] * (1 + i % 8) for i in range(96)], dtype=tf.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, Y)).ragged_batch(8)
    return models.ragged(), {"x": data, "epochs": 2}


@case("tensorflow", "torch", "jax")
def no_target():
    return models.own_loss(), {"x": X, "epochs": 2}


@case("tensorflow", "jax")
def four_steps_per_execution():
    return models.dense(steps_per_execution=4), {"x": dataset(), "epochs": 2}


@case("tensorflow", "jax")
def four_steps_per_execution_uneven():
    return models.dense(steps_per_execution=4), {"x": X[:90], "y": Y[:90], "batch_size": 10, "epochs": 3}


@case("tensorflow")
def four_steps_per_execution_unknown_length():
    return models.dense(steps_per_execution=4), {"x": dataset(4).filter(lambda *_: True).take(22), "epochs": 1}


@case("tensorflow", "torch", "jax")
def endless_data():
    return models.dense(), {"x": dataset().repeat(), "epochs": 3, "steps_per_epoch": 7}


@case("tensorflow")
def four_steps_per_execution_endless():
    model = models.dense(steps_per_execution=4)
    return model, {"x": dataset().repeat(), "epochs": 3, "steps_per_epoch": 8}


@case("tensorflow", "jax")
def jit_on():
    return models.dense(jit_compile=True), {"x": dataset(), "epochs": 2}


@case("tensorflow")
def jit_off():
    return models.dense(jit_compile=False), {"x": dataset(), "epochs": 2}


@case("tensorflow")
def run_eagerly():
    return models.dense(run_eagerly=True), {"x": dataset(), "epochs": 1}


@case("tensorflow")
def run_eagerly_with_four_steps_per_execution():
    return models.dense(run_eagerly=True, steps_per_execution=4), {"x": dataset(4), "epochs": 1}


@case("tensorflow")
def run_functions_eagerly():
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    return models.dense(), {"x": dataset(), "epochs": 1, "after": lambda: tf.config.run_functions_eagerly(False)}


@case("tensorflow")
def own_train_step():
    return models.own_train_step(), {"x": dataset(), "epochs": 2}


@case("tensorflow", "torch", "jax")
def unknown_cardinality():
    return models.dense(), {"x": dataset().filter(lambda *_: True), "epochs": 3, "vain": 3}


@case("tensorflow", "torch", "jax")
def validation_with_tf_data():
    return models.dense(), {"x": dataset(), "validation_data": dataset(shuffle=False), "epochs": 3}


@case("tensorflow", "torch")
def validation_with_arrays():
    return models.dense(), {"x": X, "y": Y, "validation_data": (X[:20], Y[:20]), "epochs": 2}


@case("tensorflow", "torch")
def validation_split():
    return models.dense(), {"x": X, "y": Y, "validation_split": 0.25, "epochs": 2}


@case("tensorflow", "torch", "jax")
def two_fits():
    return models.dense(), {"x": X, "y": Y, "batch_size": 8, "epochs": 1, "fits": 2}


@case("tensorflow")
def mixed_precision():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        return models.dense(), {"x": dataset(), "epochs": 2}
    finally:
        keras.config.set_dtype_policy(before)


@case("tensorflow")
def tensorboard_and_backup_and_checkpoints_alongside():
    home = tempfile.mkdtemp()
    callbacks = [
        keras.callbacks.TensorBoard(os.path.join(home, "tb"), update_freq=2, profile_batch=0),
        keras.callbacks.BackupAndRestore(os.path.join(home, "backup")),
        keras.callbacks.ModelCheckpoint(os.path.join(home, "e{epoch}.keras")),
        keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=1),
    ]
    return models.dense(), {"x": dataset(), "epochs": 3, "callbacks": callbacks}


class Curious(keras.callbacks.Callback):
    """Does in mid-fit what users do there: saves, pickles, clones, exports, evaluates, trains on one batch."""

    def on_train_batch_end(self, batch, logs=None):
        import copy
        import pickle

        if batch != 3:
            return
        home = tempfile.mkdtemp()
        self.model.save(os.path.join(home, "mid.keras"))
        pickle.loads(pickle.dumps(self.model))
        copy.deepcopy(self.model)
        keras.models.clone_model(self.model)
        self.model.evaluate(X[:16], Y[:16], verbose=0)
        self.model.predict(X[:16], verbose=0)
        self.model.train_on_batch(X[:8], Y[:8])


@case("tensorflow")
def a_callback_that_saves_and_evaluates_and_trains_in_mid_fit():
    return models.dense(), {"x": dataset(), "epochs": 1, "callbacks": [Curious()], "extra_steps": 1}


@case("tensorflow")
def export_after_fit():
    def export(model):
        model.export(tempfile.mkdtemp(), verbose=False)

    return models.dense(), {"x": dataset(), "epochs": 1, "then": export}


@case("tensorflow", "torch", "jax")
def many_short_epochs():
    return models.dense(), {"x": X[:24], "y": Y[:24], "batch_size": 8, "epochs": 15}


@case("tensorflow", "torch", "jax")
def epochs_of_one_step():
    return models.dense(), {"x": X[:24], "y": Y[:24], "epochs": 15}


@case("tensorflow", "torch", "jax")
def early_stopping():
    stop = keras.callbacks.EarlyStopping(monitor="loss", patience=0, min_delta=10.0)
    return models.dense(), {"x": X, "y": Y, "epochs": 9, "callbacks": [stop]}


@case("tensorflow", "torch")
def progress_bar():
    return models.dense(), {"x": X, "y": Y, "batch_size": 8, "epochs": 1, "verbose": 2}


@case("torch")
def dataloader():
    import torch

    tensors = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    return models.dense(), {"x": torch.utils.data.DataLoader(tensors, batch_size=8, shuffle=True), "epochs": 2}


@case("torch")
def dataloader_with_workers():
    import torch

    tensors = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    loader = torch.utils.data.DataLoader(tensors, batch_size=8, shuffle=True, num_workers=2)
    return models.dense(), {"x": loader, "epochs": 1}


# MirroredStrategy on two logical CPUs, and op determinism: a process of their own each. MirroredStrategy with
# steps_per_execution > 1 fails in Keras 3.15 itself ("You must feed a value for placeholder"), without us too.


def mirrored():
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@case("two_devices")
def mirrored_fit_out_of_scope():
    with mirrored().scope():
        model = models.dense()
    return model, {"x": dataset(), "epochs": 2}


@case("two_devices")
def mirrored_fit_in_scope():
    strategy = mirrored()
    with strategy.scope():
        model = models.dense()
    return model, {"x": dataset(), "epochs": 2, "scope": strategy.scope}


@case("two_devices")
def mirrored_dataset_from_function():
    strategy = mirrored()
    with strategy.scope():
        model = models.dense()
    data = strategy.distribute_datasets_from_function(lambda _: dataset(4).repeat())
    return model, {"x": data, "epochs": 2, "steps_per_epoch": 6}


@case("determinism")
def deterministic_ops():
    return models.dense(), {"x": dataset(), "epochs": 3}


@case("determinism")
def deterministic_ops_with_arrays():
    return models.dense(), {"x": X, "y": Y, "epochs": 2}
