"""Cases for the rules: plain values, judged by the real judge."""

from dataclasses import replace

from feedwatch.advise.case import Case
from feedwatch.advise.supply import supply
from feedwatch.diagnose.judge import judge
from feedwatch.diagnose.shares import exposed_ms_per_step
from feedwatch.model.account import EPOCH_START, GAP, VALIDATION, Account
from feedwatch.model.facts import BatchFacts, DeviceFacts, Facts, HostFacts, RunFacts, Transfers
from feedwatch.model.pipeline import LoaderFacts, PipelineFacts, PyDatasetFacts, TfDataFacts, TfStage
from feedwatch.model.steps import (
    COMPUTE,
    H2D,
    INPUT_WAIT,
    OTHER,
    Clumps,
    Counts,
    EpochBoundaries,
    PhaseTime,
    Startup,
    Window,
)
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample

EPOCHS = EpochBoundaries(count=4, median_ms=3.0, share=0.01, loader_start_ms=0.5, first_fetch_ms=2.0)
# With these, steps of a millisecond are what the run is about.
QUICK_EPOCHS = EpochBoundaries(count=4, median_ms=0.2, share=0.001, loader_start_ms=0.05, first_fetch_ms=0.1)


def phase(each_ms, steps, median_ms=None):
    median = each_ms if median_ms is None else median_ms
    return PhaseTime(round(each_ms * steps * 1e6), median * 1e6, each_ms * 1.2e6)


def window(
    step_ms=100.0,
    wait_ms=60.0,
    *,
    steps=200,
    h2d_ms=0.0,
    other_ms=0.5,
    starved_ms=None,
    clumps=None,
    batches=None,
    compute_median_ms=None,
):
    compute_ms = max(0.0, step_ms - wait_ms - h2d_ms - other_ms)
    return Window(
        first_step=4,
        last_step=4 + steps,
        steps=steps,
        batches=steps if batches is None else batches,
        samples=steps * 32,
        wall_ns=round(step_ms * steps * 1e6),
        step=phase(step_ms, steps),
        phases={
            INPUT_WAIT: phase(wait_ms, steps),
            H2D: phase(h2d_ms, steps),
            COMPUTE: phase(compute_ms, steps, compute_median_ms),
            OTHER: phase(other_ms, steps),
        },
        starved_ns=None if starved_ms is None else round(starved_ms * steps * 1e6),
        clumps=Clumps(steps, round(wait_ms * 1e6)) if clumps is None else clumps,
    )


def account(run, epochs, validation_ms=0.0):
    """The run as a whole: its steady steps, what its epoch starts cost, and validation at the end of every epoch."""
    if run is None:
        return None
    starts = epochs.count
    start_ms = (epochs.loader_start_ms or 0.0) + (epochs.first_fetch_ms or 0.0)
    parts = {name: None if one is None else one.total_ns for name, one in run.phases.items() if name != OTHER}
    aside = {
        EPOCH_START: round(starts * start_ms * 1e6),
        VALIDATION: round(max(1, starts) * validation_ms * 1e6),
        GAP: round(starts * max(0.0, (epochs.median_ms or 0.0) - start_ms) * 1e6),
    }
    wall_ns = run.wall_ns + sum(aside.values())
    claimed_ns = sum(value or 0 for value in parts.values()) + sum(aside.values())
    parts |= {OTHER: max(0, wall_ns - claimed_ns), **aside}
    epoch_batches = run.batches / starts if starts else None
    return Account(run.batches, starts, wall_ns, parts, run.starved_ns, epoch_batches)


def torch_run(**changes):
    return RunFacts(
        **{
            "framework": "lightning",
            "version": "2.6.6",
            "backend": "torch",
            "device": "cpu",
            "batch_size": 32,
            **changes,
        }
    )


def keras_run(**changes):
    return RunFacts(
        **{
            "framework": "keras",
            "version": "3.15.1",
            "backend": "tensorflow",
            "device": "cpu",
            "batch_size": 32,
            **changes,
        }
    )


def cuda(**changes):
    return torch_run(**{"device": "cuda:0 (A10G)", "device_kind": "cuda", "device_name": "A10G", **changes})


def loader(**changes):
    settings = {
        "num_workers": 2, "prefetch_factor": 2, "persistent_workers": True, "pin_memory": False, "batch_size": 32,
        "dataset_name": "Photos", "load_ms": 180.0, "cpu_share": 0.95, "core_wait_share": 0.02, "blocked_share": 0.03,
        "item_ms": 5.0, "item_p99_ms": 8.0, "collate_ms": 2.0,
    }  # fmt: skip
    return LoaderFacts(**{**settings, **changes})


def stage(op, ms=None, **changes):
    if ms is not None:
        changes = {"ms_per_batch": ms, "ms_per_element": ms / 32, **changes}
    if op in ("Map", "ParallelMap"):
        changes = {"python": False, "random": False, "function": "decode", "source": "train.py:31", **changes}
    return TfStage(op, **changes)


def tf_data(*stages, **changes):
    settings = {"autotune": True, "cpu_budget": 8, "elements_per_batch": 32}
    return TfDataFacts(stages=stages, **{**settings, **changes})


def host(**changes):
    """Eight CPUs; the training process computes on one of them, and its workers on some more."""
    usual = {
        "cpu_budget": 8.0, "cpu_used": 2.5, "iowait_share": 0.0, "ram_available_gb": 16.0, "process_cpus": 0.5,
        "training_cpus": 0.45, "training_delay": 0.01, "process_delay": 0.02,
    }  # fmt: skip
    return HostFacts(**{**usual, **changes})


def keras_host(**changes):
    """tf.data, PyDatasets and generators load in the training process itself."""
    used = changes.get("cpu_used", 1.3)
    return host(**{"cpu_used": used, "process_cpus": used, "training_cpus": 0.2, **changes})


def batch(**changes):
    return BatchFacts(
        **{"size_bytes": 20_000_000, "tensors": 2, "dtypes": {"float32": 20_000_000}, "pinned": False, **changes}
    )


def transfers(*, copy_ms=10.0, hidden_ms=0.0, kind="pageable", mb=20.0, copies=2, steps=10, step_ms=50.0, kernels=4000, kernel_us=10.0, idle=0.2, to_host=None, problems=(), devices=True):  # fmt: skip
    totals = CopyTotals(copies * steps, round(mb * 1e6 * steps), copy_ms * steps * 1e6)
    device = DeviceTransfers(
        name="/device:GPU:0", copies=totals, by_kind={kind: totals}, large=totals, union_ns=copy_ms * steps * 1e6,
        hidden_ns=hidden_ms * steps * 1e6, busy_ns=0.0, idle_share=idle, kernels=kernels, kernel_ns=kernels * kernel_us * 1e3,
        steps=steps, step_ns=step_ms * 1e6, exposed_per_step_ns=max(0.0, copy_ms - hidden_ms) * 1e6, bytes_per_step=mb * 1e6, to_host=to_host,
    )  # fmt: skip
    sample = TransferSample(
        "kineto", {"gpu": device} if devices else {}, steps, step_ms * 1e6, None, None, problems=problems
    )
    return Transfers("kineto", 2, sample, "gpu")


def case(run=None, *, of=None, host_facts=None, kind="unknown", stream=None, opaque=None, members=(), load_ms=None, lanes=None, loader=None, tf=None, pydataset=None, batch=None, device=None, transfers=None, callbacks=(), notes=(), startup=None, boundaries=None, counts=None, ranks=None, validation_ms=0.0):  # fmt: skip
    if loader is not None:
        kind, load_ms = "dataloader", loader.load_ms
    if tf is not None and kind == "unknown":
        kind = "tf.data"
    if pydataset is not None:
        kind = "pydataset"
    usual_host = host() if loader is not None else keras_host()
    facts = Facts(
        run=of or (keras_run() if tf is not None or pydataset is not None else torch_run()),
        pipeline=PipelineFacts(kind, loader=loader, tf_data=tf, pydataset=pydataset, load_ms=load_ms, lanes=lanes, stream=stream, opaque=opaque, members=members),
        host=usual_host if host_facts is None else host_facts,
        batch=batch, transfers=transfers, device=device, callbacks=callbacks, notes=notes,
    )  # fmt: skip
    wall_s = 0.0 if run is None else run.wall_ns / 1e9
    measured = 0 if run is None else run.steps
    epochs = EPOCHS if boundaries is None else boundaries
    whole, copies_ms = account(run, epochs, validation_ms), exposed_ms_per_step(facts)
    if whole is not None and copies_ms is not None:
        whole = whole.with_copies(copies_ms, run.steps / max(1, run.batches))
    made = Case(
        verdict=judge(run, facts, whole),
        run=run,
        facts=facts,
        startup=Startup(first_step_ms=150.0) if startup is None else startup,
        boundaries=epochs,
        counts=Counts(measured=measured, warmup=3, batches=measured, wall_s=wall_s) if counts is None else counts,
        account=whole,
        ranks=ranks,
    )
    return judged(made)


def judged(made):
    """As the digest does it: where the model explains the run, its ceiling goes into the verdict."""
    verdict, known = judge(made.run, made.facts, made.account), supply(made)
    if known is not None and known.usable:
        verdict = judge(made.run, made.facts, made.account, known.ceiling)
    return replace(made, verdict=verdict)


__all__ = [
    "Clumps",
    "DeviceFacts",
    "EpochBoundaries",
    "PyDatasetFacts",
    "Startup",
    "account",
    "batch",
    "case",
    "cuda",
    "host",
    "judged",
    "keras_host",
    "keras_run",
    "loader",
    "stage",
    "tf_data",
    "torch_run",
    "transfers",
    "window",
]
