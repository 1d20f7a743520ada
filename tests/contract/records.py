"""The step records of a run, for tests that compare every step with its own truth."""

from feedwatch.model.steps import StepRecord


def kept_records(session) -> list[StepRecord]:
    """Every step record of this session, from now on."""
    records, windows = [], session._digest.windows
    add = windows.add

    def keep(item):
        full = add(item)
        if isinstance(item, StepRecord):
            records.append(windows._records[-1])
        return full

    windows.add = keep
    return records
