"""Runs of every kind, also such as no machine would produce: advice has to hold for all of them."""

from hypothesis import strategies as st

from feedwatch.model.facts import CallbackTime
from tests.rules.build import (
    Clumps,
    DeviceFacts,
    EpochBoundaries,
    PyDatasetFacts,
    batch,
    case,
    host,
    keras_run,
    loader,
    stage,
    tf_data,
    torch_run,
    transfers,
    window,
)

positive = st.floats(0.01, 5000.0)
share = st.floats(0.0, 1.0)
flag = st.sampled_from([True, False, None])


def maybe(strategy):
    return st.none() | strategy


@st.composite
def windows(draw):
    step_ms = draw(st.floats(0.5, 2000.0))
    wait_ms = step_ms * draw(share)
    starved = draw(maybe(share))
    steps = draw(st.integers(1, 500))
    return window(
        step_ms, wait_ms, steps=steps, h2d_ms=(step_ms - wait_ms) * draw(share), other_ms=0.0,
        starved_ms=None if starved is None else starved * wait_ms, batches=steps * draw(st.integers(1, 4)),
        clumps=Clumps(draw(st.integers(0, steps)), round(wait_ms * 3e6)),
    )  # fmt: skip


hosts = st.builds(
    host, cpu_budget=maybe(st.floats(0.5, 96.0)), cpu_used=maybe(st.floats(0.0, 96.0)), iowait_share=maybe(share),
    ram_available_gb=maybe(st.floats(0.1, 500.0)), gc_share=maybe(share),
)  # fmt: skip

loaders = st.builds(
    loader, num_workers=st.integers(0, 32), prefetch_factor=maybe(st.integers(1, 8)), persistent_workers=st.booleans(),
    pin_memory=st.booleans(), batch_size=maybe(st.integers(1, 1024)), load_ms=maybe(positive), cpu_share=maybe(share),
    core_wait_share=maybe(share), blocked_share=maybe(share), item_ms=maybe(st.floats(0.001, 500.0)),
    item_p99_ms=maybe(st.floats(0.001, 5000.0)), collate_ms=maybe(positive), custom_collate=st.sampled_from([None, "pad"]),
    in_memory=flag, static_items=flag, device_tensors=flag, iterable=st.booleans(), workers_repeat_items=flag,
    dataset_bytes=maybe(st.integers(1, 10**11)), batched_getitems=st.booleans(), math_threads=maybe(st.integers(1, 16)),
    worker_rss_mb=maybe(positive),
)  # fmt: skip

OPS = ["FromTensorSlices", "TFRecord", "FromGenerator", "Map", "ParallelMap", "Shuffle", "Cache", "Batch", "Interleave", "ParallelInterleave", "Prefetch", "Repeat"]  # fmt: skip


@st.composite
def stages(draw):
    op = draw(st.sampled_from(OPS))
    parallel = op.startswith("Parallel")
    return stage(
        op, draw(maybe(positive)), parallelism=draw(st.sampled_from([-1, 2, 4])) if parallel else None,
        parallelism_now=draw(maybe(st.integers(1, 32))) if parallel else None, python=draw(flag), random=draw(flag),
        opens_files=draw(flag), buffer_size=draw(maybe(st.integers(1, 10**5))),
        elements=draw(maybe(st.integers(0, 10**6))),
    )  # fmt: skip


pipelines = st.builds(
    lambda parts, **changes: tf_data(*parts, **changes), st.lists(stages(), min_size=1, max_size=6), works_ahead=flag,
    elements_per_batch=maybe(st.integers(1, 1024)), epoch_bytes=maybe(st.integers(1, 10**10)), from_memory=flag,
    file_count=maybe(st.integers(1, 10**6)), cpu_budget=maybe(st.integers(1, 96)), keras_prefetch=st.booleans(),
)  # fmt: skip

pydatasets = st.builds(
    PyDatasetFacts, class_name=st.just("Photos"), workers=st.integers(0, 8), use_multiprocessing=st.booleans(),
    max_queue_size=st.integers(1, 20), item_ms=maybe(positive), random=flag, batch_bytes=maybe(st.integers(1, 10**8)),
)  # fmt: skip

copies = st.builds(
    transfers, copy_ms=st.floats(0.0, 100.0), hidden_ms=st.floats(0.0, 100.0), kind=st.sampled_from(["pinned", "pageable", "unknown"]),
    copies=st.integers(1, 500), mb=st.floats(0.001, 500.0), idle=share,
)  # fmt: skip

devices = st.builds(
    DeviceFacts, memory_free_bytes=maybe(st.integers(0, 10**11)), memory_used_share=maybe(share),
    memory_total_bytes=maybe(st.integers(1, 10**11)), utilisation=maybe(share), max_link_gb_per_s=maybe(st.floats(1.0, 64.0)),
)  # fmt: skip

epochs = st.builds(
    EpochBoundaries, count=st.integers(0, 50), median_ms=maybe(positive), share=maybe(share), loader_start_ms=maybe(positive),
    first_fetch_ms=maybe(positive),
)  # fmt: skip


callbacks = st.lists(
    st.builds(CallbackTime, st.sampled_from(["ModelCheckpoint", "CSVLogger", "Mine"]), st.floats(0.0, 100.0)),
    max_size=2,
).map(tuple)


@st.composite
def runs(draw):
    source = draw(st.sampled_from(["loader", "tf", "pydataset", "generator"]))
    kind = draw(st.sampled_from(["cpu", "cuda"]))
    facts = {"device_kind": kind, "local_ranks": draw(st.integers(1, 8)), "precision": draw(st.sampled_from([None, "32-true", "bf16-mixed"])), "tensor_cores": draw(flag), "capability": draw(st.sampled_from([None, (7, 5), (8, 0)])), "tf32": draw(flag)}  # fmt: skip
    return case(
        draw(windows()), of=torch_run(**facts) if source == "loader" else keras_run(run_eagerly=draw(flag), **facts),
        host_facts=draw(hosts), loader=draw(loaders) if source == "loader" else None, tf=draw(pipelines) if source == "tf" else None,
        pydataset=draw(pydatasets) if source == "pydataset" else None, kind="generator" if source == "generator" else "unknown",
        transfers=draw(maybe(copies)), device=draw(maybe(devices)), boundaries=draw(epochs), validation_ms=draw(st.floats(0.0, 5000.0)), callbacks=draw(callbacks),
        batch=draw(maybe(st.builds(batch, tensors=st.integers(1, 200), pinned=flag, integral_floats=flag))),
    )  # fmt: skip


@st.composite
def consistent_runs(draw):
    """Runs as a machine would produce them: the wait follows from the load, the step and who works beside whom."""
    step_ms, load_ms = draw(st.floats(2.0, 100.0)), draw(st.floats(1.0, 300.0))
    cpus, waits = draw(st.sampled_from([2.0, 4.0, 8.0, 16.0])), draw(st.sampled_from([0.0, 0.5, 0.95]))
    if draw(st.booleans()):
        workers = draw(st.integers(0, 8))
        wait_ms = load_ms if workers == 0 else max(0.2, load_ms / min(workers, cpus / max(0.05, 1 - waits)) - step_ms)
        busy = min(cpus, 0.5 + (1 - waits) * workers)
        # Math threads spin while the step runs.
        threads = draw(st.sampled_from([None, 1, 2, 4]))
        loads_ms = 0.0 if workers else (1 - waits) * load_ms
        process = min(cpus, (step_ms * min(threads or 1, cpus) + loads_ms) / (step_ms + wait_ms))
        busy = min(cpus, max(busy, process))
        machine = host(cpu_budget=cpus, cpu_used=busy, process_cpus=process, training_cpus=min(process, 0.45))
        made = loader(
            num_workers=workers, load_ms=load_ms, cpu_share=1 - waits, core_wait_share=0.0, blocked_share=waits,
            persistent_workers=draw(st.booleans()) and workers > 0, item_ms=load_ms / 32, collate_ms=0.1,
            math_threads=threads, worker_rss_mb=draw(st.sampled_from([None, 200.0])) if workers else None,
        )  # fmt: skip
        return case(window(step_ms + wait_ms, wait_ms), loader=made, host_facts=machine)
    ahead, calls = draw(st.booleans()), draw(st.sampled_from([None, 1, 2]))
    op, lanes = ("Map", 1) if calls is None else ("ParallelMap", calls)
    exposed_ms = load_ms / lanes
    wait_ms = max(0.1, exposed_ms - step_ms) if ahead or calls else exposed_ms
    work = stage(
        op, load_ms, parallelism=calls, parallelism_now=calls, element_bytes=draw(st.sampled_from([None, 1000]))
    )
    data = tf_data(
        stage("FromTensorSlices", 0.02), work, stage("Batch", 0.5), *([stage("Prefetch", 0.05)] if ahead else []),
        works_ahead=ahead, endless=False, cpu_budget=round(cpus),
    )  # fmt: skip
    used = min(cpus, (step_ms + (1 - waits) * load_ms) / (step_ms + wait_ms))
    return case(
        window(step_ms + wait_ms, wait_ms),
        tf=data,
        host_facts=host(cpu_budget=cpus, cpu_used=used, process_cpus=used),
    )
