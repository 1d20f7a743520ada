"""The report, put together from what the other rooms found out. Nothing is computed here except units."""

from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from feedwatch import __version__
from feedwatch.advise.case import Case
from feedwatch.advise.measured import with_measured_ceiling
from feedwatch.advise.supply import Supply, contradiction
from feedwatch.diagnose.shares import exposed_ms_per_step, watched_device
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import GAP, PARTS, Account
from feedwatch.model.facts import Facts
from feedwatch.model.report import (
    AccountSection,
    CopyKind,
    DeviceSection,
    HostSection,
    ModelSection,
    PartSection,
    PhaseSection,
    PipelineSection,
    Report,
    RunSection,
    SelfSection,
    SeriesSection,
    Status,
    StepsSection,
    TransfersSection,
)
from feedwatch.model.steps import PHASES, PhaseTime
from feedwatch.model.transfers import DeviceTransfers
from feedwatch.model.verdict import Bound, Finding
from feedwatch.words import ms

# Of all ends of epochs: fewer than this may be something else.
OFTEN_ASLEEP: Final = 0.2


@dataclass(frozen=True, slots=True)
class OwnCost:
    ns_per_step: float | None  # on the training thread, measured by the hook
    sink_cpu_ns: int  # on the sink's thread; at worst the training thread waited all that time for Python's lock
    dropped_windows: int
    profiler_windows: int = 0
    startup_ns: int | None = None  # opening the run, once
    notes: tuple[str, ...] = ()  # what the writer of the report has to say about its own work


@dataclass(frozen=True, slots=True)
class Ingredients:
    status: Status
    case: Case
    findings: tuple[Finding, ...]
    supply: Supply | None  # the run explained by the model; None where it could not be
    series: SeriesSection
    own: OwnCost
    now_s: float


def build(parts: Ingredients) -> Report:
    case, facts, run = parts.case, parts.case.facts, parts.case.run
    counts = case.counts
    wall_ns = 0 if run is None else run.wall_ns
    return Report(
        status=parts.status,
        run=_run(facts, parts.now_s),
        clock=_clock(case),
        steps=StepsSection(
            counts.measured, counts.warmup, counts.lost + counts.distrusted, counts.batches, counts.samples
        ),
        verdict=with_measured_ceiling(case.verdict, facts.trial),
        phases={name: _phase(case.phase(name), wall_ns, 0 if run is None else run.steps) for name in PHASES},
        startup=replace(case.startup, own_ms=None if parts.own.startup_ns is None else parts.own.startup_ns / 1e6),
        epoch_boundary=case.boundaries,
        series=parts.series,
        pipeline=PipelineSection(
            kind=facts.pipeline.kind,
            stages=facts.pipeline.stages,
            workers=facts.pipeline.loader.workers if facts.pipeline.loader else (),
            settings=facts.pipeline.settings,
        ),
        transfers=_transfers(facts),
        device=_device(facts),
        host=HostSection(
            facts.host.cpu_budget, facts.host.cpu_used, facts.host.iowait_share, facts.host.ram_available_gb
        ),
        findings=parts.findings,
        self_cost=_own(parts),
        account=_account(case),
        model=_model(parts),
        trial=facts.trial,
        feedwatch=__version__,
    )


def _run(facts: Facts, now_s: float) -> RunSection:
    run = facts.run
    return RunSection(
        run.framework, run.version, run.backend, run.device, run.rank, run.world_size, run.started_s, now_s
    )


def _phase(time: PhaseTime | None, wall_ns: int, steps: int) -> PhaseSection | None:
    if time is None:
        return None
    p95_ms = None if time.p95_ns is None else time.p95_ns / 1e6
    return PhaseSection(time.median_ns / 1e6, p95_ms, time.share_of(wall_ns), time.total_ns / max(1, steps) / 1e6)


def _account(case: Case) -> AccountSection | None:
    if case.account is None:
        return None
    account = case.account.typical  # the one that the verdict and every gain speak of
    parts: dict[str, PartSection | None] = {}
    for name in PARTS:
        part_ms, share = account.ms(name), account.share(name)
        parts[name] = None if part_ms is None or share is None else PartSection(part_ms, share)
    return AccountSection(account.batches, account.epochs, case.account.wall_ns / 1e9, account.batch_ms, parts)


def _model(parts: Ingredients) -> ModelSection | None:
    known, case = parts.supply, parts.case
    if case.account is None:
        return None
    waits = case.verdict.bound is Bound.INPUT and not parts.findings
    if known is None:
        note = f"no change could be compared: {_unseen(case.facts)}" if waits else None
        return ModelSection(False, None, note)
    note = None
    if not known.explains:
        so = "predicted gains are uncertain" if parts.findings else "what a change would gain is not known"
        note = (
            f"the model of the supply does not explain this run: it gives {ms(known.plan.batch_ms())} per batch, "
            f"measured were {ms(known.account.batch_ms)}; {so}"
        )
    elif waits:
        note = "every change that was compared gains less than 5 %: the work of a batch itself has to become smaller"
    return ModelSection(known.explains, known.error, note)


def _unseen(facts: Facts) -> str:
    """What is missing for a comparison."""
    if facts.pipeline.opaque is not None:
        return f"feedwatch cannot look into {facts.pipeline.opaque}"
    if facts.host.cpu_budget is None:
        return "the number of CPUs is not known"
    return "how long the stages of the input take is not known"


def _contradicting(case: Case) -> tuple[str, ...]:
    wrong = None if case.account is None else contradiction(case.facts, case.account)
    return () if wrong is None else (f"no change was compared, because figures contradict each other: {wrong}",)


def _asleep(known: Supply | None, account: Account | None) -> tuple[str, ...]:
    """No finding: what it gains depends on where in its sleep the tuner happens to be."""
    if known is None or account is None or known.plan.asleep < OFTEN_ASLEEP:
        return ()
    batches = round(known.plan.epoch_batches)
    if (account.share(GAP) or 0.0) < THRESHOLDS.worth_saying_share:
        return ()
    note = (
        f"between two epochs training stood still for {ms((account.ms(GAP) or 0.0) * batches)} on average: where an "
        "iterator ends, TensorFlow often waits for tf.data's tuner, which sleeps up to as long as the epoch lasted; "
        f"with one iterator for all epochs there is no such end: dataset.repeat() and steps_per_epoch={batches}"
    )
    return (note,)


def _clock(case: Case) -> str:
    """JAX has no clock of the device's that could be asked: when a result was there, the host's clock says."""
    seen = case.run is not None and case.run.starved_ns is not None
    return "device" if seen and case.facts.run.backend != "jax" else "host"


def _transfers(facts: Facts) -> TransfersSection | None:
    device = watched_device(facts)
    if facts.transfers is None or device is None:
        return None
    steps = max(1, facts.transfers.sample.steps)
    return TransfersSection(
        source=facts.transfers.source,
        windows=facts.transfers.windows,
        copies=device.copies.count / steps,
        mb_per_step=_bytes_per_step(device, steps) / 1e6,
        gb_per_s=device.copies.gb_per_s,
        by_kind={
            kind: CopyKind(copies.count, copies.size_bytes / 1e6, copies.gb_per_s)
            for kind, copies in device.by_kind.items()
        },
        hidden_share=device.hidden_share,
        exposed_ms_per_step=exposed_ms_per_step(facts),
        link_gb_per_s=None if facts.device is None else facts.device.link_gb_per_s,
    )


def _bytes_per_step(device: DeviceTransfers, steps: int) -> float:
    """Copies outside whole steps (the first fill) do not belong to any step."""
    return device.copies.size_bytes / steps if device.bytes_per_step is None else device.bytes_per_step


def _device(facts: Facts) -> DeviceSection | None:
    watched = watched_device(facts)
    idle_share = watched.idle_share if watched is not None else None
    if facts.device is None:
        return None if idle_share is None else DeviceSection(None, None, None, idle_share)
    seen = facts.device
    return DeviceSection(seen.utilisation, seen.memory_used_share, seen.pcie_rx_gb_per_s, idle_share)


def _own(parts: Ingredients) -> SelfSection:
    run, own = parts.case.run, parts.own
    ratio = us_per_step = None
    if own.ns_per_step is not None:
        us_per_step = own.ns_per_step / 1e3
        if run is not None and run.wall_ns > 0:
            ratio = (own.ns_per_step * run.steps + own.sink_cpu_ns) / run.wall_ns
    windows = parts.case.facts.transfers.windows if parts.case.facts.transfers else own.profiler_windows
    case = parts.case
    asleep = _asleep(parts.supply, case.account)
    said = (case.facts.notes, _unknown(case.facts), _contradicting(case), asleep, own.notes)
    notes = tuple(dict.fromkeys(chain.from_iterable(said)))
    return SelfSection(ratio, us_per_step, windows, own.dropped_windows, notes)


def _unknown(facts: Facts) -> tuple[str, ...]:
    because = facts.pipeline.unknown_because
    return () if because is None else (f"the input pipeline was not read: {because}",)
