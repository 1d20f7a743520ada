"""The tables of `feedwatch trace`. Names come from a file of anybody's: they are printed as text, never as markup."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample


def print_tables(sample: TransferSample, title: str, console: Console | None = None) -> None:
    console = console or Console()
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
        parts.append(f"{sample.steps} step{'s' if sample.steps > 1 else ''} of {_ms(sample.step_ns)} on average")
    if sample.input_wait_ns is not None:
        share = f" ({_percent(sample.input_wait_share)} of the step time)" if sample.steps else ""
        parts.append(f"input wait {_ms(sample.input_wait_ns)} in all{share}")
        if sample.input_wait_idle_ns is not None:
            parts.append(f"{_ms(sample.input_wait_idle_ns)} of it with the device idle")
    return ", ".join(parts)


def _device_table(sample: TransferSample) -> Table:
    table = _table("Devices", "device", "busy ms", "idle in steps", "copies hidden", "exposed ms", "per step")
    for name, device in sample.devices.items():
        table.add_row(Text(name), *_device_cells(device))
    return table


def _device_cells(device: DeviceTransfers) -> list[str]:
    return [
        _plain_ms(device.busy_ns),
        _percent(device.idle_share),
        _percent(device.hidden_share),
        _plain_ms(device.exposed_ns),
        _plain_ms(device.exposed_per_step_ns),
    ]


def _copy_table(sample: TransferSample) -> Table:
    inferred = " (kind of memory inferred from the host's calls)" if sample.kind_inferred else ""
    table = _table(f"Host-to-device copies{inferred}", "device", "which", "copies", "MB", "ms", "GB/s")
    for name, device in sample.devices.items():
        rows = {"all": device.copies, "64 KiB and more": device.large, **device.by_kind}
        for which, totals in rows.items():
            table.add_row(Text(name), which, *_copy_cells(totals))
    return table


def _copy_cells(totals: CopyTotals) -> list[str]:
    rate = "-" if totals.gb_per_s is None else f"{totals.gb_per_s:.2f}"
    return [str(totals.count), f"{totals.size_bytes / 1e6:.2f}", _plain_ms(totals.time_ns), rate]


def _table(title: str, *heads: str) -> Table:
    table = Table(title=title, title_justify="left")
    for head in heads:
        table.add_column(head, justify="left" if head in ("device", "which") else "right", overflow="fold")
    return table


def _plain_ms(time_ns: float | None) -> str:
    return "-" if time_ns is None else f"{time_ns / 1e6:.3f}"


def _ms(time_ns: float | None) -> str:
    return "not measured" if time_ns is None else f"{time_ns / 1e6:.3f} ms"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
