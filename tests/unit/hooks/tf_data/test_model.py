"""tf.data's model of a pipeline, brought back to the user's stages. The model is a plain object here."""

from types import SimpleNamespace

from feedwatch.hooks.tf_data.facts import table
from feedwatch.hooks.tf_data.model import join, read_model, works_ahead
from feedwatch.model.pipeline import TfStage

MS = 1_000_000


def node(name, inputs=(), elements=100, busy_ms=0.0, ratio=1.0, buffered=0, **parameters):
    values = [
        SimpleNamespace(name=key, value=float(value), tunable=tunable) for key, (value, tunable) in parameters.items()
    ]
    return SimpleNamespace(
        name=name,
        inputs=list(inputs),
        num_elements=elements,
        processing_time=int(busy_ms * MS),
        ratio=ratio,
        buffered_elements=buffered,
        parameters=values,
    )


def model(*nodes):
    """Output first; each node reads the next one."""
    everything = {0: node("Root", [1])}
    for index, made in enumerate(nodes, start=1):
        made.inputs = [index + 1] if index < len(nodes) else []
        everything[index] = made
    budget = SimpleNamespace(cpu_budget=4)
    return read_model(SimpleNamespace(nodes=everything, output=0, optimization_params=budget, gap_times=[]))


USER = (
    TfStage("Range"),
    TfStage("Map", function="decode"),
    TfStage("Batch", batch_size=8),
    TfStage("Prefetch", buffer_size=-1),
)


def test_times_are_per_batch_and_not_per_element():
    found = model(
        node("Prefetch", buffer_size=(4, True), buffered=2),
        node("BatchV2", ratio=8.0, busy_ms=100),
        node("Map", elements=800, busy_ms=4000),
        node("Range", elements=800, ratio=0.0),
    )
    joined = join(USER, found)
    decode = joined[1][0]
    assert decode.ms_per_element == 5.0
    assert decode.ms_per_batch == 40.0
    shown = table(joined)
    assert [stage.bottleneck for stage in shown] == [False, True, False, False]
    assert shown[3].buffer == 0.5
    assert shown[3].tunable is True


def test_a_fused_map_and_batch_is_the_users_map():
    found = model(node("MapAndBatch", ratio=8.0, busy_ms=4000, parallelism=(2, False)), node("Range", elements=800))
    joined = join(USER[:3], found)
    assert joined[1][0].ms_per_batch == 40.0
    assert joined[1][0].ms_per_element == 5.0
    assert joined[1][0].parallelism_now == 2
    assert joined[2][0].ms_per_batch is None
    assert works_ahead(found)


def test_an_injected_prefetch_belongs_to_nobody():
    found = model(
        node("Prefetch", buffer_size=(2, True)),
        node("BatchV2", ratio=8.0),
        node("Map", elements=800, busy_ms=80),
        node("Range"),
    )
    joined = join(USER[:3], found)
    assert joined[1][0].ms_per_batch == 0.8
    assert works_ahead(found)


def test_without_a_stage_of_its_own_thread_nothing_works_ahead():
    assert not works_ahead(model(node("FiniteTake"), node("BatchV2", ratio=8.0), node("Map"), node("Range")))


def test_dropped_stages_are_passed_over_but_not_others():
    user = (TfStage("Range"), TfStage("Map", function="first"), TfStage("Options"), TfStage("Map", function="second"))
    joined = join(user, model(node("ParallelMapV2", busy_ms=10), node("Map", busy_ms=20), node("Range")))
    assert [stage.ms_per_batch for stage, _ in joined] == [0.0, 0.2, None, 0.1]


def test_a_generator_under_a_flat_map_is_one_stage():
    everything = {
        0: node("Root", [1]),
        1: node("FlatMap", [2, 3], busy_ms=5, ratio=0.0),
        2: node("FromTensor", elements=1),
        3: node("Generator", busy_ms=1000),
    }
    made = SimpleNamespace(nodes=everything, output=0, optimization_params=SimpleNamespace(cpu_budget=0), gap_times=[])
    found = read_model(made)
    assert found.stages[0].op == "FromGenerator"
    assert found.stages[0].ms_per_batch == 10.05
    assert found.cpu_budget is None
