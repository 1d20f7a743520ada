"""A few scenes of the grid in benchmarks/device/accuracy.py: what the device's clock says against the device's own log."""

import pytest

from benchmarks.device.accuracy import compare

SCENES = [(25, 5, 2, True), (12, 15, 8, True), (12, 5, 0.01, False)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_starvation_copy_and_compute_are_the_logs(emulated, scene):
    wrong = [row for row in compare(emulated, *scene) if not row.right]
    assert wrong == []
