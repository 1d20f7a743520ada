"""Hugging Face's real Trainer, with a model of a few weights."""

import time

import pytest
import torch

transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from feedwatch.advise.snippets import loader_call  # noqa: E402
from feedwatch.huggingface import FeedWatch  # noqa: E402
from feedwatch.model.report import Status  # noqa: E402
from feedwatch.report.load import load_run  # noqa: E402
from tests.fakes.devices import HostAsDevice  # noqa: E402

pytestmark = pytest.mark.loaders


class Rows(torch.utils.data.Dataset):
    def __init__(self, count=24, wait_s=0.0, fail_at=None):
        self.count, self.wait_s, self.fail_at = count, wait_s, fail_at

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.wait_s)
        if self.fail_at == index:
            raise KeyError("theirs")
        return {"x": torch.full((3,), float(index)), "labels": torch.tensor([float(index)])}


class Model(torch.nn.Module):
    def __init__(self, error=None):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
        self.calls, self.error = 0, error

    def forward(self, x, labels=None):
        self.calls += 1
        if self.error is not None and self.calls == 4:
            raise self.error
        predicted = self.body(x)
        return {"loss": ((predicted - labels) ** 2).mean(), "logits": predicted}


def trainer(tmp_path, callbacks, *, data=None, model=None, **more):
    transformers.set_seed(1)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"), per_device_train_batch_size=4, num_train_epochs=2, learning_rate=1e-3, seed=1,
        report_to=[], disable_tqdm=True, use_cpu=True, save_strategy="no", logging_steps=3, **more,
    )  # fmt: skip
    rows = data or Rows()
    return transformers.Trainer(
        model or Model(), arguments, train_dataset=rows, eval_dataset=Rows(8), callbacks=callbacks
    )


def weights(trained):
    return [parameter.detach().clone() for parameter in trained.model.parameters()], torch.rand(2)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"gradient_accumulation_steps": 4, "dataloader_num_workers": 2},
        {"eval_strategy": "steps", "eval_steps": 4, "max_steps": 7},
    ],
    ids=["plain", "accumulation", "evaluation"],
)
def test_weights_and_the_next_random_draw_are_the_same_with_and_without(tmp_path, more):
    bare = trainer(tmp_path, [], **more)
    bare.train()
    plain, draw = weights(bare)
    watch = FeedWatch(tmp_path / "runs", console=False)
    watched = trainer(tmp_path, [watch], **more)
    before = set(vars(watched))
    watched.train()
    ours, our_draw = weights(watched)
    assert all(torch.equal(one, other) for one, other in zip(plain, ours, strict=True))
    assert torch.equal(draw, our_draw)
    left = set(vars(watched)) - before - set(vars(bare))
    assert left == set()
    expected = 7 if "max_steps" in more else 12
    assert watch.report.status is Status.FINISHED
    assert watch.report.steps.batches == expected
    assert watch.report.steps.samples == 4 * expected


def test_the_wait_for_data_is_found_and_evaluation_is_kept_apart(tmp_path):
    watch = FeedWatch(tmp_path / "runs", console=False)
    trained = trainer(tmp_path, [watch], data=Rows(48, wait_s=0.005), eval_strategy="epoch")
    trained.train()
    report = load_run(tmp_path / "runs")
    # Accelerate fetches one batch ahead: what is waited for is there all the same.
    assert report.run.framework == "huggingface"
    assert report.verdict.stall_ratio > 0.5
    assert watch._watched.run.session.steps.validation_ns > 0
    assert watch._watched.run.session.facts.run.precision == "32-true"
    # Items that sleep do not compute: more workers than CPUs are of use.
    loader = watch._watched.run.session.facts.pipeline.loader
    assert loader.load_ms > 20
    assert loader.blocked_share > 0.5


def test_the_loader_is_known_under_the_names_that_the_user_writes(tmp_path):
    watch = FeedWatch(tmp_path / "runs", console=False)
    trainer(tmp_path, [watch], dataloader_num_workers=2).train()
    loader = watch._watched.run.session.facts.pipeline.loader
    assert loader.num_workers == 2
    assert loader.argument_names["num_workers"] == "dataloader_num_workers"
    # the one call of that class in this file
    assert loader_call(loader, {"num_workers": 4}).startswith(
        "arguments = TrainingArguments(..., dataloader_num_workers=4)  # test_trainer.py:"
    )
    assert loader.one_rank_loads is False
    assert len(loader.workers) == 2


def test_by_default_the_report_lies_where_the_trainer_writes(tmp_path):
    watch = FeedWatch(console=False)
    trainer(tmp_path, [watch]).train()
    assert list((tmp_path / "out").rglob("report.json"))


def test_an_error_in_the_model_is_the_same_object_and_nothing_is_left(tmp_path):
    error, watch = ValueError("theirs"), FeedWatch(tmp_path / "runs", console=False)
    trained = trainer(tmp_path, [watch], model=Model(error))
    with pytest.raises(ValueError, match="theirs") as caught:
        trained.train()
    assert caught.value is error
    assert watch.report.status is Status.FAILED
    assert watch.report.steps.batches == 3
    assert not {"_feedwatch", "get_batch_samples", "training_step", "_prepare_inputs", "evaluate"} & set(vars(trained))


def test_an_error_in_the_data_and_ctrl_c_pass_through(tmp_path):
    watch = FeedWatch(tmp_path / "a", console=False)
    with pytest.raises(KeyError, match="theirs"):
        trainer(tmp_path, [watch], data=Rows(fail_at=11)).train()
    assert watch.report.status is Status.FAILED
    watch = FeedWatch(tmp_path / "b", console=False)
    with pytest.raises(KeyboardInterrupt):
        trainer(tmp_path, [watch], model=Model(KeyboardInterrupt())).train()
    assert watch.report.status is Status.INTERRUPTED


def test_one_callback_serves_two_trainings_and_a_second_callback_stays_passive(tmp_path):
    watch, second = FeedWatch(tmp_path / "a", console=False), FeedWatch(tmp_path / "b", console=False)
    trained = trainer(tmp_path, [watch, second])
    trained.train()
    first = watch.report
    trained.train()
    assert watch.report is not first
    assert watch.report.steps.batches == 12
    assert second.report is None


def test_resumed_training_goes_on_where_it_was(tmp_path):
    saved = trainer(tmp_path, [], max_steps=5)
    saved.args.save_strategy = getattr(transformers.trainer_utils, "SaveStrategy", transformers.IntervalStrategy)(
        "steps"
    )
    saved.args.save_steps = saved.state.save_steps = 5
    saved.train()
    watch = FeedWatch(tmp_path / "runs", console=False)
    trainer(tmp_path, [watch]).train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-5"))
    assert watch._watched.run.session.steps.steps == 12
    assert watch.report.steps.batches == 7


def test_the_kill_switch_leaves_the_trainer_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", "0")
    watch = FeedWatch(tmp_path / "none", console=False)
    trainer(tmp_path, [watch]).train()
    assert watch.report is None
    assert not (tmp_path / "none").exists()


def test_where_the_device_has_a_clock_every_step_gets_its_times(tmp_path, monkeypatch):
    monkeypatch.setattr("feedwatch.hooks.torch.run.device_clock", lambda device: HostAsDevice())
    watch = FeedWatch(tmp_path / "runs", console=False)
    more = {"gradient_accumulation_steps": 3, "eval_strategy": "epoch"}
    trainer(tmp_path, [watch], data=Rows(120, wait_s=0.002), **more).train()
    steps = watch._watched.run.session.steps
    assert watch.report.steps.batches == 60
    assert steps.dropped == 0
    assert watch.report.verdict.stall_ratio > 0.5


class TrackioCallback(transformers.TrainerCallback):
    """Known by its name. What is logged after its end would begin another run of a tracker."""

    def __init__(self):
        self.told = []

    def on_log(self, args, state, control, logs=None, **more):
        self.told += [name for name in logs if name.startswith("feedwatch/")]

    def on_train_end(self, args, state, control, **more):
        self.told.append("end")


@pytest.mark.parametrize("first", [True, False])
def test_a_tracker_gets_the_curves_before_it_ends_and_nothing_after(tmp_path, first):
    watch, tracker = FeedWatch(tmp_path / "runs", console=False), TrackioCallback()
    before = set(vars(tracker))
    trainer(tmp_path, [tracker, watch] if first else [watch, tracker], data=Rows(96, wait_s=0.001)).train()
    assert "feedwatch/stall_ratio" in tracker.told
    assert tracker.told.index("end") == len(tracker.told) - 1
    assert set(vars(tracker)) == before
    assert watch.report.status is Status.FINISHED


def test_a_real_trackio_gets_the_curves_in_one_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # read when it is imported
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pytest.importorskip("trackio")
    watch = FeedWatch(tmp_path / "runs", console=False)
    trained = trainer(tmp_path, [watch], data=Rows(96, wait_s=0.001))
    trained.add_callback(transformers.integrations.TrackioCallback)
    trained.train()
    (database,) = (tmp_path / "trackio").glob("*.db")
    assert b"feedwatch/stall_ratio" in database.read_bytes()
    assert "Resumed existing run" not in capsys.readouterr().out
    assert watch.report.self_cost.notes == ()


def test_a_real_mlflow_gets_the_curves_in_one_run(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    watch = FeedWatch(tmp_path / "runs", console=False)
    trained = trainer(tmp_path, [watch], data=Rows(96, wait_s=0.001))
    trained.add_callback(transformers.integrations.MLflowCallback)
    trained.train()
    mlflow.end_run()
    client = mlflow.MlflowClient()
    (run,) = client.search_runs([each.experiment_id for each in client.search_experiments()])
    assert 0 < run.data.metrics["feedwatch/stall_ratio"] < 1
    assert "loss" in run.data.metrics
