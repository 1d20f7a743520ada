"""The run as it is, as a plan: what one batch needs of each resource, read from the account and the facts.

A DataLoader tells what its workers do, tf.data times its stages, a generator or an iterator of the user's own is one
lane. What is not known makes the plan None.
"""

import math
from dataclasses import replace
from typing import Final

from feedwatch.advise.epoch_ends import usual_rest_of_sleep_ms
from feedwatch.advise.gains import COLD_BY_ITSELF, COLD_BY_NATIVE, COLD_BY_OTHERS
from feedwatch.advise.plan import Plan, Work
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import EPOCH_START, GAP, VALIDATION, Account
from feedwatch.model.facts import Facts
from feedwatch.model.pipeline import LoaderFacts, TfDataFacts, TfStage
from feedwatch.model.steps import COMPUTE, INPUT_WAIT

# A handover between processes, in units of one that was measured on this machine (probe/handover.py): connecting to the
# worker, its reply, and the file behind each tensor. Measured with 1 to 4 tensors and 1 and 2 workers.
OFTEN_READY: Final = 0.3  # a batch that is there this often shows what taking it over costs
TAKING_UNITS: Final = 6.0  # wall time of the training thread, per tensor
TAKING_CPU_UNITS: Final = 4.0
GIVING_CPU_UNITS: Final = 5.5
TAKING_MB: Final = 0.2  # of the time that a megabyte takes to be written and mapped
GIVING_MB: Final = 1.2
UNIT_MS: Final = 0.04  # where it was not measured: an ordinary machine
MB_MS: Final = 0.4
# Inside one process a mutex passes a finished batch on.
MUTEX_MS: Final = 0.08
# Threads that wake often for a moment are delayed often; no step computes less than half of its time because of that.
MOST_DELAYED: Final = 0.5
MOST_HELD_UP: Final = 0.5  # of the CPU time of the loading beside it
# Several math threads wait for the slowest of them at the end of every operation. With a CPU missing for one of them a
# step was two to three times as long as alone in three scripts, 1.4 times in a fourth: at most so much of it is that,
# where loading computes for half of the time or more (set while looking at these four).
SPUN: Final = 0.65
SPUN_FROM: Final = 0.5
# Threads that compute together, and spin while they wait for each other, use more CPU time than time on the wall.
SPINNING: Final = 1.3
# Of all CPUs of the machine: below the one nobody waits for a CPU, above the other everybody does.
IDLE_SHARE: Final = 0.5
FULL_SHARE: Final = 0.85
# Where nobody knows who else is on the machine.
UNKNOWN_SHARE: Final = 0.5
ONE_LANE: Final = "loading"
# Batches under way when an epoch ends: one is being made, one may wait for room.
IN_THE_MAKING: Final = 2.0
# The epochs of one run differ by about this.
UNEVEN_EPOCHS: Final = 0.05
# Stages that only pass elements on take less than this per batch.
LEAST_WORK_MS: Final = 0.3
# These stages work ahead on threads of their own.
DECOUPLING: Final = frozenset({"Prefetch", "ParallelMap", "ParallelInterleave", "ParallelBatch", "MapAndBatch"})


def cpus(facts: Facts) -> float | None:
    """For this rank: ranks on one machine share them."""
    budget = facts.host.cpu_budget
    return None if budget is None or budget <= 0 else budget / max(1, facts.run.local_ranks)


def plan_as_is(facts: Facts, account: Account) -> Plan | None:
    budget, wait_ms = cpus(facts), account.ms(INPUT_WAIT)
    if budget is None or wait_ms is None:
        return None
    if facts.pipeline.loader is not None:
        return _with_loader(facts, account, facts.pipeline.loader, budget)
    data = facts.pipeline.tf_data
    if data is not None and facts.pipeline.kind == "tf.data":
        data = _with_only_stage(data, account)
    if data is not None and any(stage.ms_per_batch for stage in data.stages):
        return _with_tf_data(facts, account, data, budget)
    return _with_one_lane(facts, account, budget)


# -- the step -----------------------------------------------------------------------------------------


def _rest(
    facts: Facts, account: Account, budget: float, *, load_cpu_ms: float, beside_cpu_ms: float, crowd: int = 0
) -> Plan:
    """Everything but loading. The step's time is what it would take if loading wanted no CPU.

    `load_cpu_ms`: CPU time that is this process' and not the step's. `beside_cpu_ms`: of loading that runs beside the
    step, in this process or in others. `crowd`: math threads and workers together.
    """
    host, batch_ms = facts.host, account.batch_ms
    stalled_ms = account.stalled_ms or 0.0
    aside_ms = (account.ms(VALIDATION) or 0.0) + (account.ms(GAP) or 0.0)
    rest_ms = max(0.0, batch_ms - stalled_ms - aside_ms)
    on_cpu = facts.run.device_kind == "cpu"
    process_ms = None if host.process_cpus is None else host.process_cpus * batch_ms
    if process_ms is None:
        process_ms = None if host.cpu_used is None else min(host.cpu_used, budget) * batch_ms
    # The step takes one CPU at least while it runs on one, and all of them at most.
    most_ms = rest_ms * budget if on_cpu else rest_ms
    step_cpu_ms = rest_ms if process_ms is None else min(max(process_ms - load_cpu_ms, 0.3 * rest_ms), most_ms)
    delayed_ms = _delayed(facts, account, min(rest_ms, account.ms(COMPUTE) or rest_ms))
    # Loading cannot have held up the step for longer than it computed; half of that where both have threads to move.
    delayed_ms = min(delayed_ms * _own_share(facts, batch_ms, beside_cpu_ms), MOST_HELD_UP * beside_cpu_ms)
    if on_cpu and crowd > budget and step_cpu_ms >= SPINNING * (rest_ms - delayed_ms):
        delayed_ms = max(delayed_ms, SPUN * rest_ms * min(1.0, beside_cpu_ms / (SPUN_FROM * batch_ms)))
    return Plan(
        loading=(),
        ahead=True,
        step_ms=max(0.0, rest_ms - delayed_ms),
        relief_ms=delayed_ms,
        step_cpu_ms=min(step_cpu_ms, most_ms),
        cpus=budget,
        busy=_busy(facts, budget),
        start_ms=account.ms(EPOCH_START) or 0.0,
        first=first_share(account),
        aside_ms=aside_ms,
    )


def _busy(facts: Facts, budget: float) -> float:
    host = facts.host
    if host.machine_cpu_share is not None:
        return min(1.0, host.machine_cpu_share)
    return 0.0 if host.cpu_used is None else min(1.0, host.cpu_used / budget)


def first_share(account: Account) -> float:
    """Of all batches: those that begin an epoch whose start was seen."""
    return 0.0 if not account.epochs else min(1.0, account.epochs / max(1, account.batches))


def _delayed(facts: Facts, account: Account, compute_ms: float) -> float:
    """Time of the step in which it was ready to compute and no CPU was free: loading or somebody else had them."""
    host = facts.host
    if facts.run.device_kind != "cpu":
        return 0.0
    # TensorFlow's step runs on the threads of a pool that loading uses too: both are held up alike.
    pooled = facts.run.backend == "tensorflow"
    cpus_used = host.process_cpus if pooled else host.training_cpus
    delay = host.process_delay if pooled else host.training_delay
    if delay is None or not cpus_used:
        return 0.0
    # Where CPUs are free a delay is only the moment in which a thread wakes up. Between epochs most of them are.
    at_work = max(0.1, 1 - (account.share(GAP) or 0.0))
    busy = 1.0 if host.machine_cpu_share is None else min(1.0, host.machine_cpu_share / at_work)
    held_up = min(1.0, max(0.0, (busy - IDLE_SHARE) / (FULL_SHARE - IDLE_SHARE)))
    return compute_ms * held_up * min(MOST_DELAYED, delay / (cpus_used + delay))


def _own_share(facts: Facts, batch_ms: float, beside_cpu_ms: float) -> float:
    """Of a wait for a CPU: what this run's own loading caused. The rest other programs did, and it stays."""
    host = facts.host
    if beside_cpu_ms <= 0:
        return 0.0
    if host.machine_cpu_share is None or host.cpu_used is None:
        full = host.cpu_used is not None and host.cpu_used >= FULL_SHARE * (cpus(facts) or math.inf)
        return 1.0 if full else UNKNOWN_SHARE
    loading = beside_cpu_ms / max(batch_ms, 1e-9)
    neighbours = max(0.0, host.machine_cpu_share * (host.cpu_budget or 0.0) - host.cpu_used)
    return loading / (loading + neighbours)


# -- DataLoaders --------------------------------------------------------------------------------------


def _with_loader(facts: Facts, account: Account, loader: LoaderFacts, budget: float) -> Plan | None:
    wait_ms = account.ms(INPUT_WAIT) or 0.0
    # Without workers the wait is the load, and it was measured at every step.
    load_ms = loader.load_ms if loader.num_workers else wait_ms
    if load_ms is None:
        return None
    items = loading_of(facts, account, loader, load_ms)
    if loader.num_workers == 0:
        plan = _rest(facts, account, budget, load_cpu_ms=items.cpu_ms, beside_cpu_ms=0.0)
        # Workers are what an epoch starts; without them its first batch costs what every batch costs.
        start_ms = max(0.0, plan.start_ms - _first(account, load_ms))
        return replace(plan, loading=(items,), ahead=False, start_ms=start_ms, chilled=COLD_BY_ITSELF)
    taking_ms, _ = handover(facts)
    taken_ms = taking_ms if loader.delivery_ms is None else loader.delivery_ms
    threads = loader.math_threads or 1
    crowd = loader.num_workers + threads if threads > 1 and not mostly_waits(items) else 0
    plan = _rest(facts, account, budget, load_cpu_ms=taken_ms, beside_cpu_ms=items.cpu_ms, crowd=crowd)
    loading = (replace(items, lanes=float(loader.num_workers)),)
    return handed_over(replace(plan, loading=loading, chilled=COLD_BY_OTHERS), facts)


def mostly_waits(work: Work) -> bool:
    return work.wait_ms > work.cpu_ms


def _first(account: Account, load_ms: float) -> float:
    return load_ms * account.epochs / max(1, account.batches)


def loading_of(facts: Facts, account: Account, loader: LoaderFacts, load_ms: float) -> Work:
    """One batch on one worker, without the time in which the run's own processes kept it from a CPU."""
    if loader.cpu_share is None:
        return Work("loading", load_ms)
    cpu_ms = load_ms * loader.cpu_share
    if not loader.num_workers:
        # The training thread loads: nothing of this run runs beside it, so others kept it from a CPU.
        used, delay = facts.host.training_cpus, facts.host.training_delay or 0.0
        held_ms = min(load_ms - cpu_ms, cpu_ms * delay / used) if used else 0.0
        return _held_up(Work("loading", cpu_ms, max(0.0, load_ms - cpu_ms - held_ms)), held_ms)
    blocked = max(0.0, 1 - loader.cpu_share) if loader.blocked_share is None else loader.blocked_share
    held_ms = load_ms * max(0.0, 1 - loader.cpu_share - blocked)
    others = 1 - _own_share(facts, account.batch_ms, cpu_ms)
    return _held_up(Work("loading", cpu_ms, load_ms * blocked), held_ms * others)


def _held_up(work: Work, held_ms: float) -> Work:
    return replace(work, stretch=1 + held_ms / work.cpu_ms) if work.cpu_ms > 0 else work


def handed_over(plan: Plan, facts: Facts) -> Plan:
    """Batches come from other processes."""
    taking_ms, cpu_ms = handover(facts)
    loader = facts.pipeline.loader
    seen = None if loader is None or not loader.num_workers else loader.ready_share
    if loader is not None and loader.delivery_ms is not None and seen is not None and seen >= OFTEN_READY:
        taking_ms = loader.delivery_ms
        if loader.worker_extra_cpu_ms is not None:
            cpu_ms = taking_ms + loader.worker_extra_cpu_ms
    return replace(plan, ahead=True, handover_ms=taking_ms, handover_cpu_ms=cpu_ms)


def handover(facts: Facts) -> tuple[float, float]:
    """Time of the training thread, and CPU time of it and of the worker, whose queue has a thread of its own."""
    unit_ms = UNIT_MS if facts.host.handover_ms is None else facts.host.handover_ms
    mb_ms = MB_MS if facts.host.handover_ms_per_mb is None else facts.host.handover_ms_per_mb
    tensors = 2 if facts.batch is None else max(1, facts.batch.tensors)
    megabytes = 0.0 if facts.batch is None else facts.batch.size_bytes / 1e6
    return (
        TAKING_UNITS * unit_ms * tensors + TAKING_MB * mb_ms * megabytes,
        (TAKING_CPU_UNITS + GIVING_CPU_UNITS) * unit_ms * tensors + (TAKING_MB + GIVING_MB) * mb_ms * megabytes,
    )


# -- tf.data ------------------------------------------------------------------------------------------


def _with_tf_data(facts: Facts, account: Account, data: TfDataFacts, budget: float) -> Plan | None:
    cold = cold_share(data, account)
    epoch_batches = max(1.0, account.epoch_batches or account.batches / max(1, account.epochs))
    # Between two epochs the old iterator is ended, which waits for what is in the making and often for tf.data's tuner,
    # and a new one is begun.
    gap_ms = account.ms(GAP) or 0.0
    making_ms = IN_THE_MAKING * sum(stage.ms_per_batch or 0.0 for stage in data.stages) / epoch_batches
    rest_ms = usual_rest_of_sleep_ms((account.batch_ms - gap_ms) * epoch_batches, UNEVEN_EPOCHS) / epoch_batches
    asleep = min(1.0, max(0.0, gap_ms - making_ms) / rest_ms) if rest_ms > 0 else 0.0
    # What is left of the gap is mostly the ending of the old iterator, whose work is still under way.
    start_ms = (account.ms(EPOCH_START) or 0.0) + gap_ms - asleep * rest_ms
    raw = _with_unseen(_stages(data), data, cold, start_ms)
    timed_ms = sum(work.cpu_ms for work in raw)
    cpu_ms = _loading_cpu_ms(facts, account, timed_ms, budget)
    beside_ms = cpu_ms if works_ahead(data) else 0.0
    plan = _rest(facts, account, budget, load_cpu_ms=cpu_ms, beside_cpu_ms=beside_ms)
    share = cpu_ms / timed_ms if timed_ms > 0 else 0.0
    # Of the time on the wall, what was neither computing nor waiting was a CPU that was not free.
    free = min(1.0, max(share, 1 - _delayed(facts, account, 1.0)))
    held = (1 - free) * (1 - _own_share(facts, account.batch_ms, cpu_ms))
    # What the first batch costs is in the buffer's filling where there is one.
    divided = tuple(
        _held_up(_divided(work, stage, share, free), held * work.cpu_ms)
        for work, stage in zip(raw, data.stages, strict=True)
    )
    return replace(
        plan,
        loading=_as_fast_as_seen(divided, data, account.batch_ms if cold > 0 else _made_every_ms(account), budget),
        ahead=works_ahead(data),
        handover_ms=MUTEX_MS,
        cold=cold,
        first=0.0 if cold > 0 else plan.first,
        start_ms=0.0 if cold > 0 else start_ms,
        aside_ms=account.ms(VALIDATION) or 0.0,
        epoch_batches=epoch_batches,
        asleep=asleep,
        chilled=COLD_BY_OTHERS if mostly_python(data) else COLD_BY_NATIVE,
    )


def mostly_python(data: TfDataFacts) -> bool:
    python_ms = sum(stage.ms_per_batch or 0.0 for stage in data.stages if is_python(stage))
    return 2 * python_ms > sum(stage.ms_per_batch or 0.0 for stage in data.stages)


def _made_every_ms(account: Account) -> float:
    """How often a batch was made at least: all but the first of an epoch in the time behind its start."""
    beside_ms = account.batch_ms - (account.ms(GAP) or 0.0) - (account.ms(EPOCH_START) or 0.0)
    later = 1 - first_share(account)
    return beside_ms / later if beside_ms > 0 and later > 0 else account.batch_ms


def _with_only_stage(data: TfDataFacts, account: Account) -> TfDataFacts:
    """Where tf.data tells no times (several devices) and one function of the user's is all there is, that function is
    what training waits for: it takes as long as a batch where the pipeline works ahead, else as long as the wait.
    """
    if any(stage.ms_per_batch for stage in data.stages):
        return data
    users = [stage for stage in data.stages if stage.function is not None or is_python(stage)]
    wait_ms = account.ms(INPUT_WAIT) or 0.0
    if len(users) != 1 or (account.stall_ratio or 0.0) < THRESHOLDS.bounds_share:
        return data
    only = replace(users[0], ms_per_batch=_made_every_ms(account) if works_ahead(data) else wait_ms)
    return replace(data, stages=tuple(only if stage is users[0] else stage for stage in data.stages))


def _stages(data: TfDataFacts) -> tuple[Work, ...]:
    """As tf.data's own model times them. A decoupling stage ends the threads of what comes before it."""
    works: list[Work] = []
    threads = 0
    for stage in data.stages:
        decoupled = stage.op in DECOUPLING and stage.op != "Prefetch"
        threads += decoupled
        works.append(
            Work(f"{len(works)} {stage.op}", stage.ms_per_batch or 0.0, lanes=lanes_of(stage), threads=threads)
        )
        threads += stage.op in DECOUPLING
    return tuple(works)


def _with_unseen(works: tuple[Work, ...], data: TfDataFacts, cold: float, start_ms: float) -> tuple[Work, ...]:
    """A shuffle that holds a whole epoch has read all of it before tf.data tells times: what stands before it has left
    tf.data's model. Its work is what the start of an epoch took.
    """
    at = next((index for index, stage in enumerate(data.stages) if stage.op.startswith("Shuffle")), None)
    if at is None or cold <= 0 or any(stage.ms_per_batch for stage in data.stages[:at]):
        return works
    maps = [index for index in range(at) if data.stages[index].function or is_python(data.stages[index])]
    if not maps:
        return works
    hidden = replace(works[maps[-1]], cpu_ms=start_ms / cold)
    return (*works[: maps[-1]], hidden, *works[maps[-1] + 1 :])


def lanes_of(stage: TfStage) -> float:
    if stage.parallelism_now is not None:
        return float(max(1, stage.parallelism_now))
    return float(stage.parallelism) if stage.parallelism is not None and stage.parallelism > 0 else 1.0


def _loading_cpu_ms(facts: Facts, account: Account, timed_ms: float, budget: float) -> float:
    """CPU time of loading: all that the process burns, less what the step needs.

    tf.data times its stages by the clock on the wall. An operation of TensorFlow may use several CPUs at once, and a
    Python function may only wait.
    """
    host, batch_ms = facts.host, account.batch_ms
    if host.process_cpus is None:
        return timed_ms
    rest_ms = max(
        0.0, batch_ms - (account.stalled_ms or 0.0) - (account.ms(VALIDATION) or 0.0) - (account.ms(GAP) or 0.0)
    )
    burnt_ms = host.process_cpus * batch_ms
    step_ms = (rest_ms - _delayed(facts, account, min(rest_ms, account.ms(COMPUTE) or rest_ms))) * (
        1.0 if facts.run.device_kind == "cpu" else 0.5
    )
    return min(max(0.0, burnt_ms - step_ms), timed_ms * budget)


def _divided(work: Work, stage: TfStage, cpu_share: float, free: float) -> Work:
    """A stage's time on the wall as CPU time and waiting."""
    wall_ms = work.cpu_ms
    # Python code uses one CPU at most.
    cpu_ms = wall_ms * (min(1.0, cpu_share) if is_python(stage) else cpu_share)
    wait_ms = max(0.0, free * wall_ms - cpu_ms)
    # Operations that use several CPUs take less time on the wall than CPU time; the lanes say how much less.
    lanes = work.lanes * max(1.0, cpu_ms / wall_ms) if wall_ms > 0 else work.lanes
    return replace(work, cpu_ms=cpu_ms, wait_ms=wait_ms, lanes=lanes, lock_ms=cpu_ms if is_python(stage) else 0.0)


def _as_fast_as_seen(works: tuple[Work, ...], data: TfDataFacts, batch_ms: float, budget: float) -> tuple[Work, ...]:
    """No stage of this run was slower than the run. Parallel calls came and went with AUTOTUNE: so many ran at once as
    it takes. A serial stage that looks slower was held up while it was timed.
    """
    seen: list[Work] = []
    for work, stage in zip(works, data.stages, strict=True):
        lanes = work.lanes
        if stage.op in DECOUPLING and stage.op != "Prefetch":
            lanes = max(lanes, min(budget, work.busy_ms / batch_ms))
        scale = min(1.0, lanes * batch_ms / work.busy_ms) if work.busy_ms > 0 else 1.0
        seen.append(
            replace(
                work,
                lanes=lanes,
                cpu_ms=work.cpu_ms * scale,
                wait_ms=work.wait_ms * scale,
                lock_ms=work.lock_ms * scale,
            )
        )
    return tuple(seen)


def is_python(stage: TfStage) -> bool:
    return stage.python is True or stage.op == "FromGenerator"


def works_ahead(data: TfDataFacts) -> bool:
    """A prefetch at the end lets the pipeline run while the step computes.

    tf.data's optimiser may inject one, or fuse stages into one that works ahead: what runs counts first.
    """
    if data.keras_prefetch or data.works_ahead is not None:
        return data.keras_prefetch or bool(data.works_ahead)
    return any(stage.op == "Prefetch" for stage in data.stages[-2:])


def cold_share(data: TfDataFacts, account: Account) -> float:
    """Share of an epoch's batches that a shuffle buffer holds behind stages that work."""
    if not account.epochs or not data.elements_per_batch:
        return 0.0
    epoch_batches = account.epoch_batches or account.batches / account.epochs
    worked = False
    for stage in data.stages:
        if stage.op.startswith("Shuffle"):
            size = stage.buffer_size or 0
            return min(1.0, size / data.elements_per_batch / epoch_batches) if worked and size > 0 else 0.0
        # A cache gives out elements in no time, whatever stands before it.
        works = stage.function is not None or is_python(stage) or (stage.ms_per_batch or 0.0) > LEAST_WORK_MS
        worked = (worked or works) and stage.op != "Cache"
    return 0.0


# -- one lane: generators, PyDatasets, iterators of the user's own ------------------------------------


def _with_one_lane(facts: Facts, account: Account, budget: float) -> Plan | None:
    wait_ms = account.ms(INPUT_WAIT) or 0.0
    pydataset = facts.pipeline.pydataset
    if pydataset is not None and pydataset.workers > 1:
        return None
    ahead = facts.run.backend == "tensorflow" and facts.pipeline.kind in ("generator", "pydataset")
    load_ms = facts.pipeline.load_ms
    if load_ms is None:
        load_ms = account.batch_ms if ahead and wait_ms > THRESHOLDS.handover_floor_ms else wait_ms
    host = facts.host
    plan = _rest(facts, account, budget, load_cpu_ms=0.0, beside_cpu_ms=0.0)
    burnt_ms = None if host.process_cpus is None else host.process_cpus * account.batch_ms
    cpu_ms = load_ms if burnt_ms is None else min(load_ms, max(0.0, burnt_ms - plan.step_ms))
    plan = _rest(facts, account, budget, load_cpu_ms=cpu_ms, beside_cpu_ms=cpu_ms if ahead else 0.0)
    work = Work(ONE_LANE, cpu_ms, load_ms - cpu_ms, lock_ms=cpu_ms)
    chilled = COLD_BY_OTHERS if ahead else COLD_BY_ITSELF
    return replace(plan, loading=(work,), ahead=ahead, handover_ms=MUTEX_MS if ahead else 0.0, chilled=chilled)
