"""One name per kind of stage."""

from feedwatch.hooks.tf_data.names import plain_name, same_kind


def test_one_vocabulary_for_classes_ops_and_nodes():
    assert {plain_name(name) for name in ("_ParallelMapDataset", "ParallelMapDatasetV2", "ParallelMapV2")} == {
        "ParallelMap"
    }
    assert plain_name("_TensorSliceDataset") == "FromTensorSlices"
    assert plain_name("TFRecordDatasetV2") == "TFRecord"
    assert same_kind("TFRecord", "ParallelInterleave")
    assert same_kind("Map", "ParallelMap")
    assert not same_kind("Map", "Batch")
