"""Settings of other libraries; the libraries themselves are in tests/contract/loaders."""

from types import SimpleNamespace

import pytest

from feedwatch.hooks.streams import _bytes, _is_remote, read_stream, shown_stream, stream_facts, with_hub_dataset
from feedwatch.model.pipeline import LoaderFacts
from feedwatch.model.stream import StreamFacts

LOADER = LoaderFacts(num_workers=0, prefetch_factor=None, persistent_workers=False, pin_memory=False, batch_size=1)


@pytest.mark.parametrize(
    ("written", "size_bytes"),
    [(1000, 1000), ("10", 10), ("2kb", 2048), ("1.5 GB", 3 << 29), ("64GiB", 64 << 30), (0.75, None), ("75%", None),
     (None, None), (True, None)],
)  # fmt: skip
def test_a_limit_is_read_as_people_write_it(written, size_bytes):
    assert _bytes(written) == size_bytes


@pytest.mark.parametrize(
    ("place", "remote"),
    [("s3://bucket/a", True), ("https://host/a", True), ("pipe:cat a", True), ("/data/a", False), ("C:\\a", False),
     (None, None)],
)  # fmt: skip
def test_a_remote_place_is_known_by_its_name(place, remote):
    assert _is_remote(place) is remote


def test_what_belongs_to_no_library_is_no_stream():
    assert read_stream([1, 2], None, SimpleNamespace(pipeline=[])) is None


def test_a_class_of_a_library_without_any_of_its_attributes_is_named_and_nothing_else_is_known():
    for package, library in [("litdata.x", "litdata"), ("streaming.base", "mosaic"), ("webdataset.a", "webdataset"),
                             ("torchdata.nodes.b", "torchdata"), ("ray.data.c", "ray"), ("nvidia.dali.d", "dali")]:  # fmt: skip
        found = read_stream(type("Changed", (), {"__module__": package})())
        assert found.library == library
        assert found.predownload is None
        assert found.shards is None


def test_only_the_package_itself_counts_not_one_whose_name_begins_alike():
    assert read_stream(type("Mine", (), {"__module__": "grains"})()) is None
    assert read_stream(type("Mine", (), {"__module__": "torchdata.stateful_dataloader"})()) is None


def test_the_report_shows_what_is_known():
    assert shown_stream(StreamFacts("litdata", predownload=2)) == {"library": "litdata", "predownload": 2}


def test_a_data_set_that_is_not_the_hubs_changes_nothing():
    assert with_hub_dataset(LOADER, [1, 2]) is LOADER


def test_a_librarys_own_loader_is_named_as_opaque():
    assert stream_facts(StreamFacts("ray")).opaque == "Ray Data, whose own times are not measured"
    assert stream_facts(StreamFacts("grain", workers=2)).settings == {"library": "grain", "workers": 2}
