"""Two logical CPUs stand for a host and its device: what crosses from the device to the host because of us?"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.python.eager import context

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

from feedwatch.hooks.keras.tf_iterator import GraphFetches  # noqa: E402
from feedwatch.hooks.tf_data.walk import batch_size  # noqa: E402


def dataset(counted):
    """`counted`: the batch size is in the static shape. Otherwise only a filter's input knows, and nobody can tell."""
    made = tf.data.Dataset.range(64).map(lambda _: tf.ones([32, 32])).batch(16, drop_remainder=counted)
    made = made if counted else made.filter(lambda _: True)
    return made.apply(tf.data.experimental.copy_to_device("/CPU:1"))


def sent_back(iterator):
    @tf.function(reduce_retracing=True)
    def step(batches):
        batch = batches.get_next()
        with tf.device("/CPU:1"):
            return tf.reduce_sum(batch)

    context.context().enable_run_metadata()
    step(iterator)
    metadata = context.context().export_run_metadata()
    context.context().disable_run_metadata()
    return list(_data_sent(metadata))


def _data_sent(metadata):
    for functions in metadata.function_graphs:
        for graph in functions.partition_graphs:
            kinds = {node.name: node.op for node in graph.node}
            for node in graph.node:
                away = node.attr["send_device"].s.endswith(b"CPU:1") and node.attr["recv_device"].s.endswith(b"CPU:0")
                if node.op in ("_Send", "_HostSend") and away:
                    yield kinds.get(node.input[0].partition(":")[0])


for counted in (False, True):
    with tf.device("/CPU:1"):
        plain = iter(dataset(counted).prefetch(2))
    twin = GraphFetches([].append).wrap(plain)
    # A constant is the empty message of a control edge, a shape is a few bytes, and the sum is the step's own result.
    sent = [kind for kind in sent_back(twin) if kind not in ("Const", "Shape", "Sum")]
    print("RESULT", "counted" if counted else "uncounted", sent)
unbatched = tf.data.Dataset.range(64).map(lambda _: tf.ones([32, 32])).batch(16)
print("RESULT size", batch_size(unbatched.apply(tf.data.experimental.copy_to_device("/CPU:1"))))
