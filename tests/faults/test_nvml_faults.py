"""The real pynvml against a library of our own making, each case in a fresh process with a time limit."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("nvml_stub.c")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to build the stub library with")

SCRIPT = """
import json, os, sys, threading, time
from dataclasses import asdict
from pathlib import Path
from feedwatch.probe.nvml import NvmlProbe

control = Path(os.environ["NVML_STUB"])
options, then, want = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]

def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)

probe = NvmlProbe(period_s=0.02, **options)
probe.start()
seen = []
def have(what):
    facts = probe.facts()
    if facts is not None:
        seen.append(facts)
    return bool(seen) if what == "facts" else bool(probe.notes)
until(lambda: have(want))
if then:
    control.write_text(then)
    until(lambda: have("note"))
began = time.monotonic()
facts = probe.facts()
probe.stop()
print(json.dumps({
    "facts": None if facts is None else asdict(facts),
    "seen": [asdict(each) for each in seen],
    "notes": probe.notes,
    "stop_s": time.monotonic() - began,
    "threads": [thread.name for thread in threading.enumerate() if thread.name == "feedwatch-nvml"],
}))
"""


# A fit on a CPU whose session believes that it trains on the stub's second GPU; the hooks, the session and NVML's thread
# are the real ones. Prints the names of our threads as the last batches see them, and those left after the fit.
FITS = """
import json, threading, time
from dataclasses import replace
from feedwatch.session import Session

opened = Session.open.__func__
def on_a_gpu(cls, run, *args, **kwargs):
    run = replace(run, device="cuda:1 (Stub A)", device_kind="cuda", device_name="Stub A")
    return opened(cls, run, *args, **kwargs)
Session.open = classmethod(on_a_gpu)

def ours():
    return sorted(thread.name for thread in threading.enumerate() if thread.name.startswith("feedwatch"))

def told(watch, during):
    report = watch.report
    print(json.dumps({"during": during, "after": ours(), "utilisation": report.device and report.device.utilisation}))
"""
KERAS_FIT = """
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy
from feedwatch.keras import FeedWatch

seen = []
class Look(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.05)
        seen[:] = ours()

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
watch = FeedWatch(profile=False, console=False)
model.fit(numpy.zeros((64, 2)), numpy.zeros(64), batch_size=2, verbose=0, callbacks=[watch, Look()])
told(watch, seen)
"""
LIGHTNING_FIT = """
import lightning, torch
from lightning.pytorch.demos.boring_classes import BoringModel
from feedwatch.lightning import FeedWatch

seen = []
class Look(lightning.Callback):
    def on_train_batch_end(self, *args):
        time.sleep(0.05)
        seen[:] = ours()

watch = FeedWatch(profile=False, console=False)
lightning.Trainer(
    max_steps=32, limit_val_batches=0, accelerator="cpu", callbacks=[watch, Look()], logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
).fit(BoringModel())
told(watch, seen)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nvml")
    target = folder / "libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", target, SOURCE], check=True)
    return folder


@pytest.fixture
def ask(library, tmp_path):
    def run(control="", then="", options=None, want="facts", environ=None, folder=library):
        path = tmp_path / "control"
        path.write_text(control)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CUDA")}
        environment |= {"NVML_STUB": str(path), "LD_LIBRARY_PATH": str(folder), **(environ or {})}
        arguments = [sys.executable, "-c", SCRIPT, json.dumps(options or {}), then, want]
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)

    return run


def test_a_healthy_gpu_gives_every_figure_and_no_note(ask):
    answer = ask("utilisation_0 80\n")
    facts = answer["facts"]
    assert answer["notes"] == []
    assert facts["name"] == "Stub A"
    assert facts["utilisation"] == pytest.approx(0.8)
    assert facts["memory_used_share"] == pytest.approx(0.25)
    assert facts["memory_free_bytes"] == 750
    assert facts["pcie_rx_gb_per_s"] == pytest.approx(3.0)
    assert facts["link_gb_per_s"] == pytest.approx(0.985 * 8)
    assert facts["max_link_gb_per_s"] == pytest.approx(1.969 * 16)
    assert answer["threads"] == []


def test_f01_a_missing_library_is_unknown_and_one_note(ask, tmp_path):
    answer = ask(want="note", folder=tmp_path)
    assert answer["facts"] is None
    assert len(answer["notes"]) == 1
    assert "not found" in answer["notes"][0].lower()


def test_f02_a_gpu_lost_in_mid_run_is_unknown_from_then_on(ask):
    answer = ask(then="lost 1\n")
    assert answer["seen"]
    assert answer["facts"] is None
    assert len(answer["notes"]) == 1
    assert "lost" in answer["notes"][0].lower()


def test_f03_no_permission_costs_that_figure_only(ask):
    answer = ask("error_rx 4\n")
    assert answer["facts"]["pcie_rx_gb_per_s"] is None
    assert answer["facts"]["utilisation"] == pytest.approx(0.5)
    assert len(answer["notes"]) == 1
    assert "permission" in answer["notes"][0].lower()


def test_f03_no_permission_for_anything_is_unknown(ask):
    answer = ask("error_init 4\n", want="note")
    assert answer["facts"] is None
    assert len(answer["notes"]) == 1


def test_f04_on_a_mig_slice_utilisation_is_unknown_never_zero(ask):
    answer = ask(environ={"CUDA_VISIBLE_DEVICES": "MIG-1234-abcd"})
    assert answer["facts"]["utilisation"] is None
    assert answer["facts"]["memory_used_share"] == pytest.approx(0.25)
    assert answer["facts"]["pcie_width"] == 8
    assert len(answer["notes"]) == 1


def test_f04_the_old_name_of_a_slice_finds_its_board(ask):
    answer = ask("width_1 4\n", environ={"CUDA_VISIBLE_DEVICES": "MIG-GPU-bbbb2222-0000/1/0"})
    assert answer["facts"]["utilisation"] is None
    assert answer["facts"]["memory_used_share"] is None
    assert answer["facts"]["pcie_width"] == 4


@pytest.mark.parametrize("call", ["init", "utilisation"])
def test_f05_a_hanging_call_is_unknown_and_holds_nobody(ask, call):
    answer = ask(f"hang_{call} 1\n", options={"hanging_s": 0.3}, want="note")
    assert answer["facts"] is None
    assert any("does not answer" in note for note in answer["notes"])
    assert answer["stop_s"] < 5


@pytest.mark.parametrize(
    ("visible", "index", "width"),
    [
        ("1,0", 0, 4),
        ("1,0", 1, 16),
        ("1", 0, 4),
        ("GPU-bbbb", 0, 4),
        ("GPU-bbbb2222-0000,GPU-aaaa", 1, 16),
        ("1,-1,0", 0, 4),
    ],
)
def test_f06_cuda_visible_devices_reorders_and_names_by_uuid(ask, visible, index, width):
    control = "width_0 16\nwidth_1 4\n"
    answer = ask(control, options={"number": index}, environ={"CUDA_VISIBLE_DEVICES": visible})
    assert answer["facts"]["pcie_width"] == width


@pytest.mark.parametrize(("visible", "index"), [("", 0), ("0,-1,1", 1), ("7", 0), ("GPU-cccc", 0), ("GPU-", 0)])
def test_f06_a_device_that_is_not_there_is_unknown(ask, visible, index):
    answer = ask(options={"number": index}, want="note", environ={"CUDA_VISIBLE_DEVICES": visible})
    assert answer["facts"] is None
    assert len(answer["notes"]) == 1


def test_f06_among_different_models_the_order_must_be_known(ask):
    assert ask("mixed 1\n", want="note")["facts"] is None
    assert ask("mixed 1\n", environ={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})["facts"]["name"] == "Stub A"
    assert ask("mixed 1\n", options={"gpu_id": "0000:02:00.0"})["facts"]["name"] == "Stub B"


def test_a_sleeping_link_does_not_count_as_a_slow_one(ask):
    busy = "utilisation_0 90\ngeneration_0 4\n"
    answer = ask(busy, then="utilisation_0 0\ngeneration_0 1\nerror_rx 3\n")
    assert answer["facts"]["pcie_generation"] == 4


@pytest.mark.parametrize("fit", [KERAS_FIT, LIGHTNING_FIT], ids=["keras", "lightning"])
def test_p5_a_fit_on_a_gpu_has_two_threads_of_ours_and_leaves_none(library, tmp_path, fit):
    control = tmp_path / "control"
    control.write_text("utilisation_0 10\nutilisation_1 80\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CUDA", "FEEDWATCH"))}
    environment |= {"NVML_STUB": str(control), "LD_LIBRARY_PATH": str(library), "FEEDWATCH_STRICT": "1"}
    command = [sys.executable, "-c", FITS + fit]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["during"] == ["feedwatch-nvml", "feedwatch-sink"]
    assert answer["after"] == []
    assert answer["utilisation"] == pytest.approx(0.8)
