"""What does not need a training; the trainings are in tests/contract/huggingface."""

import copy
import pickle

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from feedwatch.errors import SettingError
from feedwatch.hooks.huggingface.callback import FeedWatch


def test_it_can_be_copied_and_pickled(tmp_path):
    watch = FeedWatch(tmp_path, console=False)
    for twin in (copy.deepcopy(watch), pickle.loads(pickle.dumps(watch))):
        assert twin.log_dir == watch.log_dir
        assert twin.report is None


def test_a_directory_that_cannot_be_made_is_an_error_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="cannot be made"):
        FeedWatch(tmp_path / "file" / "below")
