"""Scalars, advice and the report as TensorBoard summaries, for whatever writer takes them."""

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tensorboard.compat.proto.summary_pb2 import (
    DATA_CLASS_SCALAR,
    DATA_CLASS_TENSOR,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING

from feedwatch.model.report import Report
from feedwatch.report.event_file import EventFile
from feedwatch.report.json_form import dumps
from feedwatch.report.scalars import DESCRIPTIONS

PLUGIN: Final = "feedwatch"
REPORT_TAG: Final = "feedwatch/report"
ADVICE_TAG: Final = "feedwatch/advice"

WriteSummary = Callable[[int, Summary, float], None]


class SummaryOutput:
    """An Output on top of any function that writes one Summary: our own file or the user's writer."""

    def __init__(
        self,
        write: WriteSummary,
        flush: Callable[[], None] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        self._write = write
        self._flush = flush
        self._close = close
        self._described: set[str] = set()

    def scalars(self, step: int, values: Mapping[str, float], wall_s: float) -> None:
        """One Event with all values: one call per scalar would cost ten times as much."""
        summary = Summary()
        for tag, value in values.items():
            entry = summary.value.add(tag=tag, simple_value=value)
            if tag not in self._described:
                # Readers keep the first metadata of a tag; repeating it only makes the file larger.
                entry.metadata.CopyFrom(_scalar_metadata(tag))
        self._write(step, summary, wall_s)
        self._described.update(values)

    def advice(self, step: int, markdown: str, wall_s: float) -> None:
        self._write(step, text_summary(ADVICE_TAG, markdown), wall_s)

    def report(self, step: int, report: Report, wall_s: float) -> None:
        self._write(step, report_summary(dumps(report)), wall_s)

    def flush(self) -> None:
        if self._flush is not None:
            self._flush()

    def close(self) -> None:
        if self._close is not None:
            self._close()


def own_run(directory: Path) -> SummaryOutput:
    """A run of our own: a second event file in the user's run directory would freeze their curves."""
    file = EventFile(directory)
    return SummaryOutput(file.write, close=file.close)


def text_summary(tag: str, text: str) -> Summary:
    metadata = SummaryMetadata(data_class=DATA_CLASS_TENSOR, summary_description="What feedwatch advises.")
    metadata.plugin_data.plugin_name = "text"
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=_string(text.encode(), TensorShapeProto()))])


def report_summary(report_json: str) -> Summary:
    """Compressed, because the record's checksum is pure Python and costs 0.2 µs per byte."""
    # Without a data class neither of TensorBoard's readers shows the series at all.
    metadata = SummaryMetadata(data_class=DATA_CLASS_TENSOR, summary_description="The whole feedwatch report.")
    metadata.plugin_data.plugin_name = PLUGIN
    packed = zlib.compress(report_json.encode(), 6)
    return Summary(value=[Summary.Value(tag=REPORT_TAG, metadata=metadata, tensor=_string(packed, TensorShapeProto()))])


def _scalar_metadata(tag: str) -> SummaryMetadata:
    metadata = SummaryMetadata(data_class=DATA_CLASS_SCALAR, summary_description=DESCRIPTIONS.get(tag, ""))
    metadata.plugin_data.plugin_name = "scalars"
    return metadata


def _string(value: bytes, shape: TensorShapeProto) -> TensorProto:
    return TensorProto(dtype=DT_STRING, tensor_shape=shape, string_val=[value])
