"""Reports as the runs of five people would write them. Plain dicts: the JSON that the tab reads."""

import math
import random
import time
from copy import deepcopy
from typing import Any

Json = dict[str, Any]


def _started_s() -> float:
    """A run of today whose last report is half a minute old. Asked when a report is made and not at import: the whole
    test command collects these modules a quarter of an hour before it opens the browser, and by then a running run of
    that age has rightly become a silent one."""
    return time.time() - 930


def workers2(name_seed: int = 1) -> Json:
    """Lightning on a GPU with two DataLoader workers: badly input-bound."""
    report = _report(name_seed, {"input_wait": 34.4, "h2d": 5.9, "compute": 21.2, "other": 2.3}, epochs=3, spikes=240.0)
    report["verdict"] = {
        "bound": "input",
        "title": "The GPU waits for data 54 % of the time",
        "detail": "Batches arrive every 64 ms, the model needs 21 ms. Decoding and augmentation in the two loader workers are the limit.",
        "stall_ratio": 0.539,
        "step_ms": 63.8,
        "samples_per_s": 1003.1,
        "ceiling_speedup": 2.17,
        "headroom": 0.46,
    }
    report["pipeline"] = {
        "kind": "dataloader",
        "stages": [
            _stage("read items", "ImageFolder.__getitem__ (data.py:31)", 88.1, 2, 0.77, bottleneck=True),
            _stage("collate", "default_collate", 22.6, 2, 0.2),
            _stage("pin memory", "one thread", 3.4, 1, 0.03),
        ],
        "workers": [_worker(0, 86.9, 22.1, 0.01), _worker(1, 89.3, 23.1, 0.0)],
        "settings": {
            "batch_size": 64,
            "num_workers": 2,
            "prefetch_factor": 2,
            "persistent_workers": False,
            "pin_memory": True,
        },
    }
    report["transfers"] = {
        "source": "kineto",
        "windows": 3,
        "copies": 2.0,
        "mb_per_step": 38.5,
        "gb_per_s": 6.5,
        "by_kind": {
            "pageable": {"copies": 24, "mb": 462.0, "gb_per_s": 6.1},
            "pinned": {"copies": 3, "mb": 12.0, "gb_per_s": 22.9},
        },
        "hidden_share": 0.08,
        "exposed_ms_per_step": 5.9,
        "link_gb_per_s": 25.2,
    }
    report["device"] = {"utilisation": 0.41, "memory_used_share": 0.37, "pcie_rx_gb_per_s": 0.61, "idle_share": 0.57}
    report["findings"] = [_more_workers(), _persistent_workers()]
    return report


def workers6() -> Json:
    report = _report(2, {"input_wait": 7.9, "h2d": 6.0, "compute": 21.3, "other": 2.2}, epochs=3, spikes=180.0)
    report["run"]["started"] = _started_s() + 3600
    report["verdict"] = {
        "bound": "input",
        "title": "The GPU waits for data 19 % of the time",
        "detail": "Six workers supply a batch every 34 ms; bursts of slow images empty the queue.",
        "stall_ratio": 0.19,
        "step_ms": 37.4,
        "samples_per_s": 1711.0,
        "ceiling_speedup": 1.27,
        "headroom": 0.93,
    }
    report["pipeline"]["workers"] = [_worker(i, 88 + i * 1.7, 22.4, 0.02 * i) for i in range(6)]
    report["pipeline"]["settings"] = {
        "batch_size": 64,
        "num_workers": 6,
        "prefetch_factor": 2,
        "persistent_workers": True,
    }
    report["findings"] = [_more_workers()]
    return report


def healthy() -> Json:
    report = _report(3, {"input_wait": 0.4, "h2d": 0.3, "compute": 21.1, "other": 0.9}, epochs=4, spikes=60.0)
    report["run"]["started"] = _started_s() + 7200
    report["verdict"] = {
        "bound": "compute",
        "title": "The GPU is busy: input is not the limit",
        "detail": "The device waits 1.8 % of the time; the pipeline could feed a step 1.6 times as fast.",
        "stall_ratio": 0.018,
        "step_ms": 22.7,
        "samples_per_s": 2819.0,
        "ceiling_speedup": 1.02,
        "headroom": 1.6,
    }
    report["device"] = {"utilisation": 0.97, "memory_used_share": 0.81, "pcie_rx_gb_per_s": 1.72, "idle_share": 0.03}
    report["pipeline"]["workers"] = [_worker(i, 61 + i * 0.4, 4.0, 0.34) for i in range(8)]
    report["pipeline"]["settings"] = {
        "batch_size": 64,
        "num_workers": 8,
        "prefetch_factor": 4,
        "persistent_workers": True,
        "pin_memory": True,
    }
    return report


def tf_data() -> Json:
    """Keras on a CPU with tf.data: stages with a bottleneck, no device, running."""
    report = _report(4, {"input_wait": 41.0, "h2d": None, "compute": 58.4, "other": 1.2}, epochs=6, spikes=900.0)
    report["status"] = "running"
    # Some minutes ahead: a busy machine opens the browser late, and a run of which nothing is heard is called stale.
    report["run"]["updated"] = time.time() + 300
    report["run"] |= {"framework": "keras", "version": "3.15.1", "backend": "tensorflow", "device": "cpu"}
    report["clock"] = "host"
    report["verdict"] = {
        "bound": "input",
        "title": "The training loop waits for data 41 % of the time",
        "detail": "`decode` runs one element at a time and needs 96 ms per batch; the step needs 58 ms.",
        "stall_ratio": 0.407,
        "step_ms": 100.6,
        "samples_per_s": 318.0,
        "ceiling_speedup": 1.69,
        "headroom": 0.61,
    }
    report["pipeline"] = {
        "kind": "tf.data",
        "stages": [
            _stage("TensorSlice", "", 0.2, None, 0.0),
            _stage("Shuffle", "buffer of 4,096", 1.9, None, 0.02, buffer=1.0),
            _stage("Map", "decode (train.py:31)", 96.3, 1, 0.86, bottleneck=True),
            _stage("ParallelMap", "augment (train.py:44)", 11.0, 4, 0.1, tunable=True, buffer=0.04),
            _stage("Batch", "32 elements", 2.1, 1, 0.02, buffer=0.0),
            _stage("Prefetch", "", None, None, None, tunable=True, buffer=0.02),
        ],
        "workers": [],
        "settings": {"batch_size": 32, "autotune": True, "deterministic": True, "cardinality": 250},
    }
    report["host"] = {"cpu_budget": 8.0, "cpu_used": 2.1, "iowait_share": 0.004, "ram_available_gb": 24.1}
    report["findings"] = [_serial_map()]
    report["epoch_boundary"]["loader_start_ms"] = None
    report["self"]["notes"] = [
        "Copies to the device: the run has no GPU.",
        "Device figures: NVML found no driver.",
    ]
    report["self"]["profiler_windows"] = 0
    return report


def failed() -> Json:
    report = _report(5, {"input_wait": 1.0, "h2d": None, "compute": 12.0, "other": 0.5}, epochs=0, points=6, spikes=0.0)
    report["status"] = "failed"
    report["verdict"] = {
        "bound": "unknown",
        "title": "Too few steps to tell",
        "detail": "The training failed after 31 steps; a verdict needs about 50.",
        "stall_ratio": None,
        "step_ms": None,
        "samples_per_s": None,
        "ceiling_speedup": None,
        "headroom": None,
    }
    report["phases"] = dict.fromkeys(("input_wait", "h2d", "compute", "other"))
    report["steps"] = {"measured": 31, "warmup": 10, "dropped": 0, "batches": 31, "samples": None}
    report["host"] = dict.fromkeys(("cpu_budget", "cpu_used", "iowait_share", "ram_available_gb"))
    report["self"] = {
        "overhead_ratio": None,
        "us_per_step": None,
        "profiler_windows": 0,
        "dropped_windows": 0,
        "notes": [],
    }
    return report


def rank(number: int, world_size: int = 4) -> Json:
    """One rank of a DDP run whose third rank has a slow disk."""
    wait = 17.4 if number == 2 else 1.0 + number * 0.3
    report = _report(
        10 + number, {"input_wait": wait, "h2d": 1.1, "compute": 38.0 - wait, "other": 0.8}, epochs=2, spikes=90.0
    )
    share = wait / 39.9
    report["run"] |= {"rank": number, "world_size": world_size, "device": f"cuda:{number} (NVIDIA A10G)"}
    slow = number == 2
    report["verdict"] = {
        "bound": "input" if slow else "compute",
        "title": f"Rank {number} waits for data {share * 100:.0f} % of the time",
        "detail": "The others wait for it in the all-reduce."
        if slow
        else "Its own input keeps up; part of its compute is waiting for rank 2.",
        "stall_ratio": share,
        "step_ms": 39.9,
        "samples_per_s": 1604.0,
        "ceiling_speedup": 1.77 if slow else 1.03,
        "headroom": 0.62 if slow else 1.9,
    }
    return report


def hostile() -> Json:
    """Everything a writer of event files could try."""
    report = workers2()
    attack = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    report["verdict"] |= {"title": attack, "detail": "</script>" + attack, "stall_ratio": "NaN", "step_ms": -1e308}
    report["findings"][0] |= {"title": attack, "code": "../../../etc/passwd", "why": attack * 20}
    report["findings"][0]["fix"] = {"before": None, "after": attack}
    report["findings"].append("not a finding")
    report["pipeline"]["stages"][0] |= {"name": attack, "ms_per_batch": "long", "parallelism": {}}
    report["pipeline"]["settings"] = {attack: attack, "nested": {"a": [1]}}
    report["series"]["input_wait"] = ["x", None, {}, *report["series"]["input_wait"][3:]]
    report["series"]["marks"] = [{"step": "one"}, None, {"step": report["series"]["step"][5], "label": attack}]
    report["self"]["notes"] = [attack, 7, None]
    report["an_unknown_key"] = {"of": "a later version"}
    return report


def _report(seed: int, phases: dict[str, float | None], *, epochs: int, spikes: float, points: int = 240) -> Json:
    step_ms = sum(value or 0.0 for value in phases.values())
    started_s = _started_s()
    return {
        "schema": 2,
        "feedwatch": "1.0.0",
        "status": "finished",
        "run": {
            "framework": "lightning", "version": "2.6.6", "backend": "torch", "device": "cuda:0 (NVIDIA A10G)",
            "rank": 0, "world_size": 1, "started": started_s, "updated": started_s + 900,
        },
        "clock": "device",
        "steps": {"measured": 3970, "warmup": 10, "dropped": 20, "batches": 4000, "samples": 256000},
        "verdict": {},
        "phases": {
            name: None if value is None else {"ms": value, "p95_ms": value * 1.6 + 0.2, "share": value / step_ms}
            for name, value in phases.items()
        },
        "startup": {"first_step_ms": 2840.0, "tracing_ms": 1910.0},
        "epoch_boundary": {"count": max(0, epochs - 1), "median_ms": 1460.0 if epochs > 1 else None, "share": 0.011 if epochs > 1 else None,
                           "loader_start_ms": 910.0 if epochs > 1 else None, "first_fetch_ms": 430.0 if epochs > 1 else None},
        "series": _series(seed, phases, points, epochs, spikes),
        "pipeline": {"kind": "dataloader", "stages": [], "workers": [], "settings": {}},
        "transfers": None,
        "device": None,
        "host": {"cpu_budget": 16.0, "cpu_used": 3.2, "iowait_share": 0.02, "ram_available_gb": 41.5},
        "findings": [],
        "self": {"overhead_ratio": 0.0004, "us_per_step": 7.9, "profiler_windows": 3, "dropped_windows": 0, "notes": []},
        "ranks": None,
    }  # fmt: skip


def _series(seed: int, phases: dict[str, float | None], points: int, epochs: int, spikes: float) -> Json:
    draw = random.Random(seed)
    steps = [round((i + 1) * 4000 / 240) for i in range(points)]
    per_epoch = points // epochs if epochs else points + 1
    series: Json = {"step": steps}
    for name, ms in phases.items():
        wobble = [1 + 0.13 * math.sin(i / 17 + seed) + draw.gauss(0, 0.09) for i in range(points)]
        series[name] = [None if ms is None else round(max(0.0, ms * w), 3) for w in wobble]
    for i in range(0, points, per_epoch):
        if spikes and series["input_wait"][i] is not None:
            series["input_wait"][i] = round(spikes * draw.uniform(0.8, 1.2), 2)
    series["marks"] = [{"step": steps[e * per_epoch], "label": f"epoch {e}"} for e in range(1, epochs)]
    return series


def _stage(name: str, detail: str, ms: float | None, parallelism: int | None, share: float | None, **more: Any) -> Json:
    usual = {"tunable": None, "buffer": None, "bottleneck": False}
    return {
        "name": name,
        "detail": detail,
        "ms_per_batch": ms,
        "parallelism": parallelism,
        "share": share,
        **usual,
        **more,
    }


def _worker(number: int, fetch: float, collate: float, idle: float) -> Json:
    return {"id": number, "batches": 660, "fetch_ms": fetch, "collate_ms": collate, "idle_share": idle,
            "cpu_share": 0.91, "core_wait_share": 0.03, "blocked_share": 0.06}  # fmt: skip


def _more_workers() -> Json:
    return deepcopy({
        "code": "FW102",
        "name": "too-few-workers",
        "title": "Raise num_workers from 2 to 6",
        "why": "One batch costs a worker 111 ms, the rest of the step takes 29 ms. Two workers supply a batch every 55 ms; 13 of the 16 CPUs are idle.",
        "evidence": {"load_ms": 110.7, "rest_of_step_ms": 29.4, "num_workers": 2.0, "cpu_budget": 16.0},
        "fix": {
            "before": "DataLoader(\n    train_set,\n    batch_size=64,\n    num_workers=2,\n    pin_memory=True,\n)",
            "after": "DataLoader(\n    train_set,\n    batch_size=64,\n    num_workers=6,\n    pin_memory=True,\n)",
        },
        "gain": {"low": 1.75, "high": 2.1, "basis": "predicted", "because": "6 workers supply a batch every 19 ms; the rest of the step needs 29 ms."},
    })  # fmt: skip


def _persistent_workers() -> Json:
    return deepcopy({
        "code": "FW104",
        "name": "workers-restart-each-epoch",
        "title": "Keep the workers alive between epochs",
        "why": "Each epoch begins with 910 ms of starting workers and 430 ms until the first batch: 1.1 % of the run.",
        "evidence": {"loader_start_ms": 910.0, "epochs": 3.0},
        "fix": {"before": "DataLoader(..., num_workers=2)", "after": "DataLoader(..., num_workers=2, persistent_workers=True)"},
        "gain": {"low": 1.01, "high": 1.01, "basis": "measured", "because": "Trial: 1.3 s less per epoch, 95 % interval 1.1 to 1.5 s."},
    })  # fmt: skip


def _serial_map() -> Json:
    return deepcopy({
        "code": "FW120",
        "name": "serial-map",
        "title": "Let decode run in parallel",
        "why": "`decode` (train.py:31) handles one element at a time: 96 ms per batch, 86 % of the pipeline. The step needs 58 ms, and 5.9 of 8 CPUs are idle.",
        "evidence": {"ms_per_batch": 96.3, "share": 0.86, "cpu_budget": 8.0},
        "fix": {"before": "ds = ds.map(decode)", "after": "ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)"},
        "gain": {"low": 1.55, "high": 1.69, "basis": "predicted", "because": "Seven parallel calls supply a batch every 14 ms; the step then hides the input."},
    })  # fmt: skip
