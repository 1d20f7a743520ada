"""Fixes in the user's own names and values."""

from feedwatch.advise.snippets import comment, function_name, loader_call, loader_edit, place
from tests.rules.build import loader, stage


def test_a_loader_call_edits_only_what_is_advised_at_the_users_own_line():
    text = loader_call(loader(call_site="train.py:57", pin_memory=True), {"num_workers": 6})
    assert text == "loader = DataLoader(..., num_workers=6)  # train.py:57"
    compile(text, "fix", "exec")


def test_where_a_framework_makes_the_loader_its_own_names_are_used():
    names = {"": "TrainingArguments", "num_workers": "dataloader_num_workers"}
    text = loader_call(loader(argument_names=names), {"num_workers": 6})
    assert text == "arguments = TrainingArguments(..., dataloader_num_workers=6)"


def test_an_edit_shows_what_is_there_and_what_comes():
    before, after = loader_edit(loader(num_workers=2), {"num_workers": 6})
    assert (before, after) == ("loader = DataLoader(..., num_workers=2)", "loader = DataLoader(..., num_workers=6)")
    assert loader_edit(loader(), {"worker_init_fn": None})[0] == "loader = DataLoader(...)"


def test_a_comment_says_where_the_user_wrote_it():
    assert comment(stage("Map", call_site="train.py:40")) == "  # train.py:40"
    assert comment(stage("Map")) == "  # train.py:31"
    assert comment(stage("Batch")) == ""


def test_a_stage_is_called_by_the_users_function_and_line():
    assert place(stage("Map")) == "decode (train.py:31)"
    assert place(stage("Batch")) == "Batch"
    assert function_name(stage("Map", function="<lambda>")) == "function"
    assert function_name(stage("Map", function="Reader.decode")) == "decode"
