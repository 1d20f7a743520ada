"""The Keras chapter's pipeline as written and with each fix. tests/contract/test_demo.py trains."""

import os

import pytest

pytest.importorskip("tensorflow")

from feedwatch.demo.keras_chapter import PHOTOS, SIDE, KerasChapter, jpegs, pipeline, quiet_stderr


@pytest.fixture(scope="module")
def photos():
    return jpegs()


def test_there_is_one_real_jpeg_per_sample(photos):
    packed, labels = photos
    assert len(packed) == len(labels) == PHOTOS
    assert all(photo.startswith(b"\xff\xd8") for photo in packed)
    assert SIDE == 256


@pytest.mark.parametrize("applied", [None, "FW120", "FW121"])
def test_a_fix_changes_its_own_stage_only(photos, applied):
    data = pipeline(*photos, applied)
    stages = []
    while True:
        stages.append(type(data).__name__)
        if not hasattr(data, "_input_dataset"):
            break
        data = data._input_dataset
    assert ("_ParallelMapDataset" in stages) is (applied == "FW120")
    assert ("_PrefetchDataset" in stages) is (applied == "FW121")


def test_the_progress_bar_knows_the_number_of_steps():
    assert KerasChapter(epochs=2).steps == 2 * PHOTOS // 32


def test_what_c_code_writes_to_stderr_is_hushed_and_stderr_comes_back(capfd):
    with quiet_stderr():
        os.write(2, b"about CUDA")
    os.write(2, b"mine")
    assert capfd.readouterr().err == "mine"
