"""`feedwatch trace FILE`: what any XSpace or Kineto trace says about copies, the device and the wait for input."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from feedwatch.errors import TraceError
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.probe.traces import read_trace

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
        from feedwatch.cli.trace_table import print_tables

        print_tables(sample, args.file.name)
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
