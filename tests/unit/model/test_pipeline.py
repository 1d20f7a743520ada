"""The user's input pipeline as plain values."""

from feedwatch.model.pipeline import (
    LoaderFacts,
    PipelineFacts,
    PyDatasetFacts,
    Stage,
    TfDataFacts,
    TfStage,
    WorkerTime,
)
from tests.unit.model.frozen import assert_frozen


def test_values_are_frozen():
    assert_frozen(LoaderFacts, PipelineFacts, PyDatasetFacts, Stage, TfDataFacts, TfStage, WorkerTime)


def test_a_loader_knows_its_settings_and_no_times():
    bare = LoaderFacts(
        num_workers=2, prefetch_factor=2, persistent_workers=False, pin_memory=False, batch_size=32
    )  # fmt: skip
    times = (bare.load_ms, bare.item_ms, bare.item_p99_ms, bare.collate_ms, bare.delivery_ms, bare.ready_share)
    assert set(times) == {None}
    assert bare.workers == ()


def test_two_pipelines_do_not_share_their_settings():
    one, other = PipelineFacts("arrays"), PipelineFacts("arrays")
    assert one.settings is not other.settings
    assert (one.loader, one.tf_data, one.pydataset, one.load_ms, one.lanes) == (None, None, None, None, None)
