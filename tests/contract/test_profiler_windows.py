"""Real profilers on the CPU: windows run, are read and answer "no device data"; the user's own profiler stays whole."""

import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from feedwatch.probe.profiling import ProfilerWindows


def windows_of(backend, notes, choice=True, has_gpu=False):
    return ProfilerWindows(backend, choice=choice, has_gpu=has_gpu, rank=0, warmup_steps=2, note=notes.append)


@pytest.fixture
def own_temporary_folder(tmp_path, monkeypatch):
    """Where windows write: what is left there afterwards was forgotten."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def check_a_blind_window(windows, notes):
    patch = windows.collect()
    assert patch is not None
    transfers = patch["transfers"]
    assert transfers.windows == 1
    assert transfers.sample.devices == {}
    assert transfers.sample.steps >= 4
    assert transfers.sample.problems[0].startswith("no device data")
    assert notes == [transfers.sample.problems[0]]
    assert windows.cost_ns > 0


# -- torch ---------------------------------------------------------------------------------------


@pytest.fixture
def torch_loop():
    torch = pytest.importorskip("torch")
    gc.collect()  # profilers of other tests, dead but not yet collected, would keep ours from starting
    model = torch.nn.Linear(8, 2)
    data = torch.utils.data.TensorDataset(torch.zeros(200, 8))
    loader = torch.utils.data.DataLoader(data, batch_size=4)

    def run(windows, before=lambda step: None):
        for step, (batch,) in enumerate(loader, start=1):
            before(step)
            model(batch).sum().backward()
            windows.step_end(step)
            if windows._pending:
                return

    return run


def test_a_torch_window_is_read_from_the_process_and_sees_the_loader_but_no_device(torch_loop):
    from feedwatch.hooks.torch.profiler import TorchProfiler

    notes = []
    windows = windows_of(TorchProfiler(), notes)
    torch_loop(windows)
    check_a_blind_window(windows, notes)
    assert windows.transfers.source == "kineto"
    assert windows.transfers.sample.input_wait_ns > 0
    assert 0 < windows.transfers.sample.input_wait_share < 1


def user_events(torch, body):
    """How many operators the user's own profiler sees."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        body()
    return sum(event.count for event in profile.key_averages() if event.key == "aten::add")


def test_f07_while_a_torch_profiler_runs_ours_does_not_start_and_theirs_is_whole(torch_loop):
    import torch

    from feedwatch.hooks.torch.profiler import TorchProfiler

    notes = []
    windows = windows_of(TorchProfiler(), notes)

    def body():
        for _ in range(10):
            torch.ones(3) + 1
        torch_loop(windows)

    assert user_events(torch, body) == 10
    assert windows.refused_because == "a torch profiler"
    assert windows.windows == 0


def test_f08_a_torch_profiler_started_during_our_window_is_whole_and_ends_ours(torch_loop):
    import torch

    from feedwatch.hooks.torch.profiler import TorchProfiler

    notes = []
    backend = TorchProfiler()
    windows = windows_of(backend, notes)
    state = {"began": None}

    def before(step):
        if state["began"] is None and backend._profile is not None:
            state["began"] = step
            state["user"] = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
            state["user"].start()
        if state["began"] is not None:
            torch.ones(3) + 1

    torch_loop(windows, before)
    assert windows.refused_because
    assert windows.collect() is None
    for _ in range(10):
        torch.ones(3) + 1
    user = state["user"]
    user.stop()
    steps = 50 - state["began"] + 1
    assert sum(e.count for e in user.key_averages() if e.key == "aten::add") == steps + 10
    assert not any("ProfilerStep" in e.key for e in user.key_averages())


def test_a_torch_profiler_works_as_ever_after_our_window(torch_loop):
    import torch

    from feedwatch.hooks.torch.profiler import TorchProfiler

    windows = windows_of(TorchProfiler(), [])
    torch_loop(windows)
    assert user_events(torch, lambda: [torch.ones(3) + 1 for _ in range(7)]) == 7


def test_the_events_of_a_gpu_are_told_apart_by_what_torch_says_about_them():
    from feedwatch.hooks.torch.profiler import plain_events

    class Event:
        def __init__(self, name, kind, metadata="", device="CUDA"):
            self.name, self.activity_type = lambda: name, lambda: kind
            self.metadata_json, self.device_type = lambda: metadata, lambda: f"DeviceType.{device}"
            self.start_ns, self.duration_ns, self.device_index = lambda: 100, lambda: 50, lambda: 0

    copy = Event("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", '"device": 0, "bytes": 4096, "stream": 7')
    twin = Event("ProfilerStep#3", "gpu_user_annotation")
    step = Event("ProfilerStep#3", "user_annotation", device="CPU")
    plain = plain_events([copy, twin, step, Event("gemm", "kernel"), Event("aten::to", "cpu_op", device="CPU")])
    assert [event.category for event in plain] == ["gpu_memcpy", "gpu_user_annotation", "user_annotation", "kernel"]
    assert plain[0].size_bytes == 4096
    without_bytes = Event("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy")
    assert plain_events([without_bytes]) is None


def test_a_window_can_also_be_read_by_way_of_a_file(torch_loop):
    from feedwatch.hooks.torch.profiler import TorchProfiler

    windows = windows_of(TorchProfiler(), [])
    torch_loop(windows)
    sample = windows._pending[0]._read_file()
    assert sample.steps >= 4
    assert sample.input_wait_ns > 0


# -- TensorFlow ----------------------------------------------------------------------------------

FIT = """
import sys
import keras, numpy as np
from feedwatch.hooks.keras.profiler import keras_profiler
from feedwatch.probe.profiling import ProfilerWindows

notes, everybody = [], []

class Watch(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.windows = ProfilerWindows(
            keras_profiler(keras.backend.backend(), lambda: everybody), choice=True, has_gpu=False, rank=0,
            warmup_steps=2, note=notes.append)
        self.step = 0

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        self.windows.step_end(self.step)

    def on_epoch_end(self, epoch, logs=None):
        self.windows.epoch_end()

    def on_train_end(self, logs=None):
        self.windows.close()

def fit(*callbacks):
    watch = Watch()
    everybody[:] = [*callbacks, watch]
    model = keras.Sequential([keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    model.fit(np.zeros((400, 8), "float32"), np.zeros((400, 2), "float32"), batch_size=8, verbose=0, callbacks=everybody)
    return watch.windows
"""

BLIND = """
windows = fit()
transfers = windows.collect()["transfers"]
assert transfers.source == "xspace", transfers
assert transfers.sample.devices == {}
assert transfers.sample.problems[0].startswith("no device data"), transfers
assert transfers.sample.steps >= 4, transfers
assert notes[0].startswith("1 profiler window cost"), notes
assert notes[1].startswith("no device data"), notes
print("blind window read")
"""

THEIRS = """
windows = fit(keras.callbacks.TensorBoard(sys.argv[1], profile_batch=(20, 25)))
assert windows.refused_because == "TensorBoard(profile_batch=…)", windows.refused_because
assert windows.windows == 0
print("refused")
"""

AFTER_THEIRS = """
windows = fit(keras.callbacks.TensorBoard(sys.argv[1], profile_batch=(2, 3)))
assert windows.refused_because is None
assert windows.windows == 1
print("theirs first, then ours")
"""


def run_script(script, backend, folder):
    environment = {**os.environ, "KERAS_BACKEND": backend, "TMPDIR": str(folder / "tmp"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    (folder / "tmp").mkdir()
    arguments = [sys.executable, "-c", FIT + script, str(folder / "logs")]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert list((folder / "tmp").glob("feedwatch-*")) == []
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_window_of_keras_is_read_and_its_folder_removed(tmp_path, backend):
    pytest.importorskip(backend)
    assert "blind window read" in run_script(BLIND, backend, tmp_path)


@pytest.mark.slow
def test_the_users_tensorboard_profile_is_whole_when_it_is_still_to_come(tmp_path):
    pytest.importorskip("tensorflow")
    from feedwatch.probe.traces import read_trace

    assert "refused" in run_script(THEIRS, "tensorflow", tmp_path)
    theirs = list((tmp_path / "logs").rglob("*.xplane.pb"))
    assert len(theirs) == 1
    assert read_trace(theirs[0]).steps >= 5


@pytest.mark.slow
def test_when_the_users_profile_is_done_ours_may_run(tmp_path):
    pytest.importorskip("tensorflow")
    assert "theirs first, then ours" in run_script(AFTER_THEIRS, "tensorflow", tmp_path)
    assert len(list((tmp_path / "logs").rglob("*.xplane.pb"))) == 1


@pytest.mark.slow
def test_f09_an_active_tensorflow_session_is_left_untouched(tmp_path, own_temporary_folder):
    tf = pytest.importorskip("tensorflow")
    from feedwatch.hooks.keras.profiler import TensorFlowProfiler

    tf.profiler.experimental.start(str(tmp_path / "user"))
    try:
        backend = TensorFlowProfiler()
        assert backend.other_active() == "a TensorFlow profile session"
        notes = []
        windows = windows_of(backend, notes)
        for step in range(1, 30):
            tf.constant(1.0) + 1
            windows.step_end(step)
        assert windows.refused_because == "a TensorFlow profile session"
    finally:
        tf.profiler.experimental.stop()
    assert list((tmp_path / "user").rglob("*.xplane.pb"))
    assert list(Path(own_temporary_folder).iterdir()) == []


@pytest.mark.slow
def test_f14_two_windows_within_a_second_are_two_readable_traces(own_temporary_folder):
    tf = pytest.importorskip("tensorflow")
    from feedwatch.hooks.keras.profiler import TensorFlowProfiler

    backend, recordings = TensorFlowProfiler(), []
    for number in range(2):
        backend.start()
        backend.step(number)
        tf.constant(1.0) + 1
        recordings.append(backend.stop())
    assert [recording.read().steps for recording in recordings] == [1, 1]
    backend.start()
    backend.abandon()
    assert list(Path(own_temporary_folder).iterdir()) == []


@pytest.mark.slow
def test_f09_a_session_that_python_does_not_know_of_is_a_refusal_and_leaves_no_dead_session(tmp_path):
    tf = pytest.importorskip("tensorflow")
    from tensorflow.python.profiler.internal import _pywrap_profiler

    from feedwatch.hooks.keras.profiler import TensorFlowProfiler

    session = _pywrap_profiler.ProfilerSession()  # as a profiler server opens one
    session.start(str(tmp_path / "server"), {})
    backend = TensorFlowProfiler()
    windows = windows_of(backend, [])
    for step in range(1, 30):
        windows.step_end(step)
    assert windows.refused_because == "a TensorFlow profile session"
    assert windows.failed_because is None
    session.export_to_tb()
    assert list((tmp_path / "server").rglob("*.xplane.pb"))
    tf.profiler.experimental.start(str(tmp_path / "user"))
    tf.profiler.experimental.stop()
    assert list((tmp_path / "user").rglob("*.xplane.pb"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "wait", "windows", "refused"),
    [
        ("told", 9, 0, "PyTorchProfiler"),  # the hook knows the trainer's profiler
        ("untold", 7, 0, "a torch.profiler.profile"),  # it is warming up when our turn comes
        ("untold", 6, 0, "a torch profiler"),  # it is recording
    ],
)
def test_the_trace_of_lightnings_profiler_is_whole_beside_our_windows(tmp_path, mode, wait, windows, refused):
    pytest.importorskip("lightning")
    script = Path(__file__).parents[1] / "faults" / "train_with_pytorch_profiler.py"
    arguments = [sys.executable, str(script), str(tmp_path), mode, str(wait), "1"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    assert answer["linear"] == 4
    assert len(answer["steps"]) == 4
    assert (answer["windows"], answer["refused"]) == (windows, refused)


def test_f08_a_profiler_that_warms_up_during_our_window_is_whole_afterwards():
    torch = pytest.importorskip("torch")
    from feedwatch.hooks.torch.profiler import TorchProfiler

    counts = []
    backend = TorchProfiler()
    backend.start()
    backend.step(1)
    schedule = torch.profiler.schedule(wait=0, warmup=3, active=2, repeat=1)

    def ready(profile):
        counts.append(sum(event.count for event in profile.key_averages() if event.key == "aten::add"))

    user = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule, on_trace_ready=ready
    )
    user.start()
    for step in range(8):
        torch.ones(3) + 1
        user.step()
        if step == 1:
            backend.stop()
    user.stop()
    assert counts == [2]
