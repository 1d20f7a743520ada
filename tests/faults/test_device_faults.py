"""What may go wrong on a device: same weights, same exception, one warning, and never a hang."""

import math
import threading
import warnings

import lightning.pytorch as pl
import pytest
import torch
from torch.autograd import profiler as autograd_profiler

from feedwatch.guard import FeedwatchWarning
from feedwatch.probe import profiling
from feedwatch.torch import FeedWatch
from tests.contract.device.scenes import Scene, fit, loop

SCENE = Scene(load_ms=0, kernel_ms=1, steps=20, workers=0)
pytestmark = pytest.mark.lenient


def weights(scene, tmp_path, train=loop, **options):
    return train(scene, tmp_path / "bare", watch=False, **options).parameters


def same(one, other):
    return all(torch.equal(left, right) for left, right in zip(one, other, strict=True))


def watched(tmp_path, train=loop, scene=SCENE, **options):
    """The outcome, and how many warnings of ours there were."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = train(scene, tmp_path / "watched", **options)
    return outcome, [str(each.message) for each in caught if issubclass(each.category, FeedwatchWarning)]


@pytest.mark.parametrize("train", [loop, fit], ids=["loop", "lightning"])
def test_f96_memory_is_full_at_our_first_events(emulated, tmp_path, train):
    bare = weights(SCENE, tmp_path, train)
    emulated.faults.events_out_of_memory = 3
    outcome, said = watched(tmp_path, train)
    assert same(bare, outcome.parameters)
    assert len(said) <= 1


@pytest.mark.parametrize("train", [loop, fit], ids=["loop", "lightning"])
def test_f97_an_event_that_never_completes_costs_its_own_steps_only(emulated, tmp_path, train):
    scene = Scene(load_ms=0, kernel_ms=1, steps=330, workers=0)
    bare = weights(scene, tmp_path, train)
    emulated.reset()
    emulated.faults.events_never_complete = 1
    outcome, said = watched(tmp_path, train, scene)
    assert same(bare, outcome.parameters)
    assert said == []
    assert outcome.report.steps.measured > 30


def test_f98_a_device_that_is_lost_in_mid_run_gives_the_users_own_exception(emulated, tmp_path):
    def train(watch):
        model = torch.nn.Linear(4, 1).to("emulated")
        for number, batch in enumerate(watch([torch.ones(2, 4)] * 20)):
            if number == 8:
                emulated.faults.lose_device(0)
            model(batch.to("emulated")).sum().backward()

    with pytest.raises(RuntimeError) as bare:
        train(lambda batches: batches)
    emulated.reset()
    watch = FeedWatch(tmp_path, console=False, device="emulated")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(type(bare.value)) as ours, watch:
            train(watch)
    assert str(ours.value).splitlines()[0] == str(bare.value).splitlines()[0]
    assert len([each for each in caught if issubclass(each.category, FeedwatchWarning)]) <= 1
    assert watch.report is not None


def test_f99_nothing_is_recorded_and_nothing_fails_while_a_graph_is_captured(emulated, tmp_path):
    watch = FeedWatch(tmp_path, console=False, device="emulated")
    for number, _ in enumerate(watch([torch.ones(2)] * 30)):
        emulated.faults.capturing = 10 <= number < 15
        torch.emulated.kernel(1) if not emulated.faults.capturing else None
    torch.accelerator.synchronize()
    report = watch.close()
    assert emulated.counters().forbidden_during_capture == 0
    assert report.steps.batches + report.steps.dropped >= 29
    assert report.steps.measured >= 10


@pytest.mark.filterwarnings("ignore")
def test_f100_a_stream_that_is_destroyed_gives_the_users_own_exception(emulated, tmp_path):
    def train(batches):
        stream = torch.Stream("emulated")
        with stream:
            for number, _ in enumerate(batches):
                if number == 8:
                    emulated.faults.destroy_stream(0, stream.stream_id)
                torch.emulated.kernel(1)

    with pytest.raises(RuntimeError) as bare:
        train([0] * 20)
    emulated.reset()
    watch = FeedWatch(tmp_path, console=False, device="emulated")
    with pytest.raises(RuntimeError) as ours:
        train(watch([0] * 20))
    assert str(ours.value).splitlines()[0] == str(bare.value).splitlines()[0]
    emulated.reset()
    watch.close()


def test_f101_a_kernel_that_hangs_does_not_hang_the_end(emulated, tmp_path):
    watch = FeedWatch(tmp_path, console=False, device="emulated")
    for number, _ in enumerate(watch([0] * 20)):
        torch.emulated.kernel(math.inf if number == 10 else 1)
    closing = threading.Thread(target=watch.close, daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()


def test_f102_two_runs_on_one_device_do_not_disturb_each_other(emulated, tmp_path):
    bare = weights(SCENE, tmp_path)
    first, second = (FeedWatch(tmp_path / name, console=False, device="emulated") for name in "ab")
    batches = second(first([torch.ones(2, 4)] * 20))
    for batch in batches:
        torch.emulated.kernel(1)
        batch.to("emulated")
    torch.accelerator.synchronize()
    assert [watch.close().steps.batches for watch in (first, second)] == [20, 20]
    assert same(bare, watched(tmp_path)[0].parameters)


def test_a_profiler_that_does_not_start_is_said_once_and_training_goes_on(emulated, tmp_path):
    bare = weights(SCENE, tmp_path, fit)
    emulated.faults.profiler_start = emulated.ProfilerStart.RAISES
    outcome, said = watched(tmp_path, fit, profile=True)
    assert same(bare, outcome.parameters)
    assert len(said) <= 1


def test_f103_a_profiler_that_starts_slowly_is_in_no_step_and_in_our_cost(emulated, tmp_path):
    """Two seconds in one steady step made such a run host-bound."""
    emulated.settings.profiler_start_ms = 2000
    scene = Scene(load_ms=0, kernel_ms=5, steps=60, pin=True, workers=0)
    outcome, _ = watched(tmp_path, fit, scene, profile=True)
    assert outcome.report.verdict.bound.value != "host"
    assert outcome.report.phases["other"].share < 0.2
    assert outcome.report.self_cost.us_per_step > 2_000_000 / 60 / 2


def test_a_profiler_whose_start_hangs_is_left_behind_and_training_goes_on(emulated, tmp_path, monkeypatch):
    monkeypatch.setattr(profiling, "REHEARSAL_SECONDS", 0.3)
    bare = weights(SCENE, tmp_path, fit)
    emulated.faults.profiler_start = emulated.ProfilerStart.HANGS
    outcome, said = watched(tmp_path, fit, profile=True)
    assert same(bare, outcome.parameters)
    assert len(said) <= 1
    assert any("has not started within" in note for note in outcome.report.self_cost.notes)
    assert outcome.report.steps.batches == SCENE.steps
    assert not autograd_profiler._is_profiler_enabled  # a profiler of the user's finds the place free


def test_a_device_that_is_lost_in_a_trainer_gives_the_users_own_exception(emulated, tmp_path):
    class Loses(pl.Callback):
        def on_train_batch_start(self, trainer, module, batch, number):
            if number == 8:
                emulated.faults.lose_device(0)

    with pytest.raises(RuntimeError) as bare:
        fit(SCENE, tmp_path / "bare", watch=False, callbacks=[Loses()])
    emulated.reset()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(type(bare.value)) as ours:
            fit(SCENE, tmp_path / "watched", callbacks=[Loses()])
    emulated.reset()
    assert str(ours.value).splitlines()[0] == str(bare.value).splitlines()[0]
    assert len([each for each in caught if issubclass(each.category, FeedwatchWarning)]) <= 1


@pytest.mark.parametrize("train", [loop, fit], ids=["loop", "lightning"])
def test_a_second_device_that_is_current_changes_nothing(emulated, tmp_path, train):
    bare = weights(SCENE, tmp_path, train)
    emulated.reset()
    where = {"device": "emulated:1"} if train is loop else {"index": 1}
    outcome, said = watched(tmp_path, train, **where)
    assert same(bare, outcome.parameters)
    assert said == []
    assert {it.device for it in emulated.operations("event")} == {1}
