"""The step records of a run, for tests that compare every step with its own truth."""

from feedwatch.model.steps import StepRecord


def kept_records(session) -> list[StepRecord]:
    """Every step record of this session, once its window is full."""
    records, windows = [], session._digest.windows
    cut = windows.cut

    def keep(*clocks):
        piece = cut(*clocks)
        records.extend([] if piece is None else piece.records)
        return piece

    windows.cut = keep
    return records
