"""Several profiler windows of one run, as one sample."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from feedwatch.model.facts import Transfers
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample

T = TypeVar("T")


def fold_windows(samples: Sequence[TransferSample]) -> Transfers | None:
    """`device` is the one that got the most bytes: with DataParallel one GPU is fed for all the others."""
    if not samples:
        return None
    sample = fold(samples)
    fed = max(sample.devices.values(), key=lambda each: (each.copies.size_bytes, each.busy_ns), default=None)
    return Transfers(sample.source, len(samples), sample, "" if fed is None else fed.name)


def fold(samples: Sequence[TransferSample]) -> TransferSample:
    steps = sum(sample.steps for sample in samples)
    names = dict.fromkeys(name for sample in samples for name in sample.devices)
    latest = samples[-1]
    return TransferSample(
        source=latest.source,
        devices={name: _device([s.devices[name] for s in samples if name in s.devices]) for name in names},
        steps=steps,
        step_ns=_mean(samples, lambda sample: sample.step_ns, lambda sample: sample.steps),
        input_wait_ns=_sum(sample.input_wait_ns for sample in samples),
        input_wait_idle_ns=_sum(sample.input_wait_idle_ns for sample in samples),
        kind_inferred=any(sample.kind_inferred for sample in samples),
        problems=latest.problems,  # the first window may have been blind where later ones see
        step_wait_ns=_sum(sample.step_wait_ns for sample in samples),
    )


def _device(parts: Sequence[DeviceTransfers]) -> DeviceTransfers:
    steps = sum(part.steps for part in parts)
    return DeviceTransfers(
        name=parts[0].name,
        copies=_totals(part.copies for part in parts),
        by_kind=_by_kind(parts),
        large=_totals(part.large for part in parts),
        union_ns=sum(part.union_ns for part in parts),
        hidden_ns=sum(part.hidden_ns for part in parts),
        busy_ns=sum(part.busy_ns for part in parts),
        idle_share=_mean(parts, lambda part: part.idle_share, lambda part: part.steps * (part.step_ns or 0.0)),
        kernels=sum(part.kernels for part in parts),
        kernel_ns=sum(part.kernel_ns for part in parts),
        steps=steps,
        step_ns=_mean(parts, lambda part: part.step_ns, _steps),
        busy_per_step_ns=_mean(parts, lambda part: part.busy_per_step_ns, _steps),
        exposed_per_step_ns=_mean(parts, lambda part: part.exposed_per_step_ns, _steps),
        bytes_per_step=_mean(parts, lambda part: part.bytes_per_step, _steps),
        to_host=_totals(part.to_host for part in parts if part.to_host is not None),
    )


def _steps(part: DeviceTransfers) -> float:
    return part.steps


def _by_kind(parts: Sequence[DeviceTransfers]) -> dict[str, CopyTotals]:
    kinds = sorted({kind for part in parts for kind in part.by_kind})
    return {kind: _totals(part.by_kind[kind] for part in parts if kind in part.by_kind) for kind in kinds}


def _totals(parts: Iterable[CopyTotals]) -> CopyTotals:
    known = list(parts)
    return CopyTotals(
        sum(part.count for part in known),
        sum(part.size_bytes for part in known),
        sum(part.time_ns for part in known),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(parts: Sequence[T], value: Callable[[T], float | None], weight: Callable[[T], float]) -> float | None:
    known = [(weight(part), found) for part in parts if (found := value(part)) is not None]
    total = sum(weight for weight, _ in known)
    return sum(weight * found for weight, found in known) / total if total > 0 else None
