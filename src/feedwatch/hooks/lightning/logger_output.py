"""The user's own loggers as outputs. TensorBoard gets everything, the others the scalars."""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from feedwatch.model.report import Report
from feedwatch.report.outputs import SummaryOutput

# Their clients queue or send by themselves and may be called from any thread; a call may also wait for the network,
# which the training thread must not. Every other logger is called where Lightning calls it: on the training thread.
ANY_THREAD: Final = ("MLFlowLogger", "CometLogger", "NeptuneLogger")
# One row per window: so many are waiting only when a step lasts longer than all of them together.
OUTBOX_ROWS: Final = 64


def tensorboard_output(logger: Any) -> SummaryOutput | None:
    """The writer that a TensorBoardLogger already has, or None. Private names of torch, so everything is asked."""
    get_writer = getattr(getattr(logger, "experiment", None), "_get_file_writer", None)
    if not any(kind.__name__ == "TensorBoardLogger" for kind in type(logger).__mro__) or get_writer is None:
        return None
    writer = get_writer()  # here, on the training thread: making it is not safe on two
    if not callable(getattr(writer, "add_summary", None)) or not callable(getattr(writer, "flush", None)):
        return None
    return SummaryOutput(lambda step, summary, wall_s: writer.add_summary(summary, step, wall_s), writer.flush)


class MetricsOutput:
    """Scalars by `log_metrics`. The report itself stays in report.json."""

    def __init__(self, logger: Any) -> None:
        self._log_metrics = logger.log_metrics  # before ours is wrapped around it: this is our time, not theirs
        self._any_thread = any(kind.__name__ in ANY_THREAD for kind in type(logger).__mro__)
        self.rows: deque[tuple[int, dict[str, float]]] = deque(maxlen=OUTBOX_ROWS)

    def scalars(self, step: int, values: Mapping[str, float], wall_s: float) -> None:
        if self._any_thread:
            self._log_metrics(dict(values), step=step)
        else:
            self.rows.append((step, dict(values)))

    def drain(self) -> None:
        """On the training thread, between two steps."""
        while self.rows:
            step, values = self.rows.popleft()
            self._log_metrics(values, step=step)

    def advice(self, step: int, markdown: str, wall_s: float) -> None: ...
    def report(self, step: int, report: Report, wall_s: float) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
