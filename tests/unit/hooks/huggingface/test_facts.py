from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("transformers")

from feedwatch.hooks.huggingface.facts import ARGUMENT_NAMES, run_facts


def arguments(**more):
    told = {"process_index": 1, "world_size": 4, "bf16": False, "fp16": False, "device": torch.device("cpu")}
    return SimpleNamespace(**{**told, **more})


@pytest.mark.parametrize(
    ("more", "precision"), [({}, "32-true"), ({"bf16": True}, "bf16-mixed"), ({"fp16": True}, "16-mixed")]
)
def test_the_arguments_tell_the_rank_and_the_precision(more, precision):
    facts = run_facts(arguments(**more))
    assert (facts.framework, facts.rank, facts.world_size) == ("huggingface", 1, 4)
    assert facts.precision == precision


def test_every_name_is_one_that_training_arguments_have():
    from transformers import TrainingArguments

    assert set(ARGUMENT_NAMES.values()) <= set(TrainingArguments.__dataclass_fields__)
