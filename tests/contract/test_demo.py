"""The demo's two trainings: watched or not, they end with the same bits."""

import argparse
import random

import numpy as np
import pytest

from feedwatch.cli import demo

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def test_keras_weights_and_the_next_random_draw_are_bit_identical(tmp_path):
    import keras

    from feedwatch.demo import keras_chapter
    from feedwatch.keras import FeedWatch

    packed, labels = keras_chapter.jpegs()

    def train(*callbacks):
        keras.utils.set_random_seed(1)  # before the data: shuffle takes its seed from here
        data = keras_chapter.pipeline(packed[:320], labels[:320], None)
        model = keras_chapter.fit(data, 2, list(callbacks))
        return [weight.tobytes() for weight in model.get_weights()], keras.random.normal((3,)).numpy().tobytes()

    assert train() == train(FeedWatch(tmp_path, console=False))


def test_lightning_weights_and_the_next_random_draw_are_bit_identical(tmp_path):
    import torch

    from feedwatch.demo import lightning_chapter
    from feedwatch.lightning import FeedWatch

    chapter = lightning_chapter.LightningChapter(epochs=2)

    def train(*callbacks):
        model = lightning_chapter.fit(chapter.loader(None), 2, list(callbacks), tmp_path)
        weights = [weight.numpy().tobytes() for weight in model.state_dict().values()]
        return weights, torch.rand(3).numpy().tobytes(), random.random(), np.random.random()  # noqa: NPY002 -- the legacy state is what we must not touch

    assert train() == train(FeedWatch(tmp_path, console=False))


@pytest.mark.parametrize("framework", ["keras", "lightning"])
def test_the_demo_tells_its_whole_story(framework, tmp_path, capsys, monkeypatch):
    """Verdict, first finding with its gain, the second training, both numbers, and where to look."""
    assert demo.run(argparse.Namespace(framework=framework, log_dir=tmp_path)) == 0
    told = capsys.readouterr().out
    assert "waits for data" in told
    assert "faster, predicted" in told
    assert "reached" in told
    assert f"tensorboard --logdir {tmp_path}" in told.replace("\n", "")
    assert (tmp_path / framework / "before" / "feedwatch" / "report.json").exists()
    assert (tmp_path / framework / "after" / "feedwatch" / "report.json").exists()
