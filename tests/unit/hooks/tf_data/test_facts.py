"""A live tf.data iterator as facts, and what a person reads of them."""

import gc
import time

import tensorflow as tf

from feedwatch.hooks.tf_data.facts import EARLY_LOOKS, NO_MODEL, TfPipeline, load
from feedwatch.hooks.tf_data.model import join
from feedwatch.model.pipeline import TfStage
from tests.unit.hooks.tf_data.test_model import model, node


def slow(value):
    time.sleep(0.002)
    return value


def decode(value):
    return tf.ensure_shape(tf.numpy_function(slow, [value], tf.int64), [])


def pipeline(data, said=None):
    return TfPipeline("tf.data", data, keras_prefetch=False, say=(said if said is not None else []).append)


def test_segments_between_decoupling_stages_overlap():
    user = (TfStage("Range"), TfStage("Map"), TfStage("ParallelMap"), TfStage("Batch"), TfStage("Prefetch"))
    found = model(
        node("Prefetch", buffer_size=(2, True)),
        node("BatchV2", busy_ms=500),
        node("ParallelMapV2", busy_ms=4000, parallelism=(4, True)),
        node("Map", busy_ms=2000),
        node("Range"),
    )
    needed = load(join(user, found))
    assert needed.load_ms == 65.0
    # serial map 20 ms; parallel map 40 / 4; batch 5: the serial map sets the pace.
    assert needed.load_ms / needed.lanes == 20.0


def test_nothing_timed_means_nothing_known():
    assert load([(TfStage("Map"), None)]) == (None, None)


def test_a_slow_map_of_a_live_iterator_is_the_bottleneck():
    data = tf.data.Dataset.range(200).map(decode).batch(4)
    reader = pipeline(data)
    iterator = iter(data)
    reader.iterator(iterator)
    for _ in range(10):
        next(iterator)
    found = reader.read()
    (slowest,) = [stage for stage in found.stages if stage.bottleneck]
    assert slowest.detail.startswith("decode (test_facts.py:")
    assert slowest.ms_per_batch >= 4 * 2
    assert found.load_ms >= 4 * 2
    assert found.settings["batch_size"] == 4
    assert found.settings["batches_per_epoch"] == 50


def test_a_run_shorter_than_a_window_is_described_by_its_early_looks():
    data = tf.data.Dataset.range(40).map(decode).batch(4)
    reader = pipeline(data)
    iterator = iter(data)
    reader.iterator(iterator)
    for _ in range(EARLY_LOOKS + 2):
        next(iterator)
        reader.early_look()
    del iterator
    gc.collect()
    assert reader.read().load_ms >= 4 * 2


def test_the_users_dataset_is_not_kept_alive():
    reader = pipeline(tf.data.Dataset.range(3))
    gc.collect()
    assert reader.element_spec() is None
    assert reader.batch_size() is None
    assert reader.read().unknown_because == "the pipeline's stages cannot be seen"


def test_without_autotuning_stage_times_are_unknown_and_that_is_said():
    options = tf.data.Options()
    options.autotune.enabled = False
    data, said = tf.data.Dataset.range(40).batch(4).with_options(options), []
    reader = pipeline(data, said)
    iterator = iter(data)
    next(iterator)
    reader.iterator(iterator)
    found = reader.read()
    assert found.load_ms is None
    assert found.tf_data.autotune is False
    assert said == [NO_MODEL]


def test_what_keras_built_has_no_line_of_the_users():
    data = tf.data.Dataset.range(40).map(decode).shuffle(23)
    for by_keras in (False, True):
        reader = TfPipeline("tf.data", data, keras_prefetch=by_keras, say=[].append)
        facts = reader.read().tf_data
        assert facts.endless is False
        assert (facts.stages[-1].call_site is None) is by_keras
