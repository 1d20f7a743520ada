"""`feedwatch trace FILE`: what any XSpace or Kineto trace says about copies, the device and the wait for input."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from feedwatch.errors import TraceError
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.probe.traces import read_trace
from feedwatch.words import count, ms, number, percent, rate, size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

EXIT_ERROR: Final = 2
NS_PER_MS: Final = 1e6


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "trace",
        help="read a profiler trace: host-to-device copies, idle device, wait for input",
        description="Reads an XSpace file (*.xplane.pb of tf.profiler or JAX) or a Kineto trace "
        "(*.json, .gz, .xz of torch.profiler), recorded by anybody.",
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    try:
        sample = read_trace(args.file)
    except TraceError as error:
        print(f"feedwatch: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_ERROR
    if args.json:
        print(json.dumps(as_json(sample), indent=2, allow_nan=False))
    else:
        from rich.console import Console

        print_tables(sample, args.file.name, Console())
    return 0


def as_json(sample: TransferSample) -> dict[str, Any]:
    """The fields of this answer are a promise: scripts read them."""
    return {
        "kind": sample.source,
        "steps": sample.steps,
        "step_ms": _ms(sample.step_ns),
        "devices": {name: _device(device) for name, device in sample.devices.items()},
        "input_wait_ms": _ms(sample.input_wait_ns),
        "input_wait_share": sample.input_wait_share,
        "kind_inferred": sample.kind_inferred,
        "problems": list(sample.problems),
    }


def _device(device: DeviceTransfers) -> dict[str, Any]:
    return {
        "h2d": {
            **_copies(device.copies),
            "overlap_share": device.hidden_share,
            "exposed_ms": _ms(device.exposed_ns),
            "by_kind": {kind: _copies(totals) for kind, totals in device.by_kind.items()},
            "large": {
                "count": device.large.count,
                "bytes": device.large.size_bytes,
                "gb_per_s": device.large.gb_per_s,
            },
        },
        "busy_ms": _ms(device.busy_ns),
        "idle_share": device.idle_share,
    }


def _copies(totals: CopyTotals) -> dict[str, Any]:
    return {
        "count": totals.count,
        "bytes": totals.size_bytes,
        "ms": _ms(totals.time_ns),
        "gb_per_s": totals.gb_per_s,
    }


def _ms(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_MS


def print_tables(sample: TransferSample, title: str, console: "Console") -> None:
    """The names come from a file that anybody may have written: they are printed as text, never as markup."""
    from rich.text import Text

    console.print(Text(f"{title}: {_headline(sample)}"))
    if sample.devices:
        console.print(_device_table(sample))
    if any(device.copies.count for device in sample.devices.values()):
        console.print(_copy_table(sample))
    for problem in sample.problems:
        console.print(Text(f"- {problem}"))


def _headline(sample: TransferSample) -> str:
    parts = [f"{sample.source} trace"]
    if sample.steps:
        parts.append(f"{count(sample.steps, 'step')} of {ms(_ms(sample.step_ns))} on average")
    if sample.input_wait_ns is not None:
        share = f" ({percent(sample.input_wait_share)} of the step time)" if sample.steps else ""
        parts.append(f"input wait {ms(_ms(sample.input_wait_ns))} in all{share}")
        if sample.input_wait_idle_ns is not None:
            parts.append(f"{ms(_ms(sample.input_wait_idle_ns))} of it with the device idle")
    return ", ".join(parts)


def _device_table(sample: TransferSample) -> "Table":
    from rich.text import Text

    table = _table("Devices", "device", "busy", "idle in steps", "copies hidden", "exposed", "per step")
    for name, device in sample.devices.items():
        table.add_row(
            Text(name),
            ms(_ms(device.busy_ns)),
            percent(device.idle_share),
            percent(device.hidden_share),
            ms(_ms(device.exposed_ns)),
            ms(_ms(device.exposed_per_step_ns)),
        )
    return table


def _copy_table(sample: TransferSample) -> "Table":
    from rich.text import Text

    inferred = " (kind of memory inferred from the host's calls)" if sample.kind_inferred else ""
    table = _table(f"Host-to-device copies{inferred}", "device", "which", "copies", "size", "time", "speed")
    for name, device in sample.devices.items():
        rows = {"all": device.copies, "64 KiB and more": device.large, **device.by_kind}
        for which, totals in rows.items():
            cells = (number(totals.count), size(totals.size_bytes), ms(_ms(totals.time_ns)), rate(totals.gb_per_s))
            table.add_row(Text(name), which, *cells)
    return table


def _table(title: str, *heads: str) -> "Table":
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for head in heads:
        table.add_column(head, justify="left" if head in ("device", "which") else "right", overflow="fold")
    return table
