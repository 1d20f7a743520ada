"""The scenes run in tests/contract/device/run_keras_torch.py and in test_scenarios.py; here is what stands around them."""

import os

from feedwatch.model.facts import Transfers
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.selftest.keras_scenes import BATCH_BYTES, _with_way_back, missing, run
from feedwatch.selftest.row import Row

FINE = Row("truth", "said", agree=True)


def dies(folder):
    os._exit(7)


def test_a_process_that_dies_is_a_failure_and_no_hang(tmp_path):
    assert run("none", dies, tmp_path) == Row("", "its process ended with 7", agree=False)


def test_a_package_that_is_not_there_is_named():
    assert missing("torch", "no_such_package", spawned=True) == "Keras and no_such_package"
    assert missing("no_such_backend", "torch", spawned=False) == "KERAS_BACKEND=no_such_backend"


def back(size_bytes):
    none = CopyTotals(0, 0, 0.0)
    device = DeviceTransfers(
        "GPU:0", none, {}, none, 0.0, 0.0, 1.0, None, steps=5, to_host=CopyTotals(5, size_bytes, 1.0)
    )
    return Transfers("xspace", 1, TransferSample("xspace", {"GPU:0": device}, 5, 1e6, None, None), "GPU:0")


def test_a_batch_that_is_sent_back_to_the_host_makes_it_fail():
    assert _with_way_back(FINE, back(5 * 40)).agree
    assert not _with_way_back(FINE, back(5 * BATCH_BYTES)).agree
    assert not _with_way_back(FINE, None).agree
