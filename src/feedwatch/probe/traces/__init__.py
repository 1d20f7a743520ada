"""Readers of profiler traces: an XSpace or Kineto file, whoever wrote it, becomes one `TransferSample`."""

from pathlib import Path

from feedwatch.errors import TraceError
from feedwatch.model.transfers import TransferSample


def read_trace(path: Path) -> TransferSample:
    """Any failure is a `TraceError` whose text is one line and names the file."""
    # Imported here because protobuf and numpy cost time, and most runs never read a trace.
    from feedwatch.probe.traces.analysis import analyse
    from feedwatch.probe.traces.kineto import read_kineto
    from feedwatch.probe.traces.source import TraceSource
    from feedwatch.probe.traces.xspace import read_xspace

    try:
        source = TraceSource(path)
        return analyse(read_kineto(source) if source.is_json() else read_xspace(source.whole()))
    except TraceError as error:
        raise TraceError(f"{path.name}: {error}") from error
    except MemoryError as error:
        raise TraceError(f"{path.name}: too large for the memory that is left") from error
