"""What is said where there is nothing to change, or no gain to trust: the same words for console and Markdown."""

from typing import Final

from feedwatch.model.report import Report
from feedwatch.model.verdict import Bound

NOTHING: Final = (
    "Nothing to change: the input keeps up with the model. Time spent on the pipeline would not make this run faster."
)
NO_RULE: Final = "No change that feedwatch knows gains 5 % or more here."
NO_VERDICT: Final = "There is no advice before there is a verdict."


def words_without_findings(report: Report) -> tuple[str, ...]:
    return () if report.findings else (*_nothing_found(report), *model_note(report))


def model_note(report: Report) -> tuple[str, ...]:
    note = None if report.model is None else report.model.note
    return () if note is None else (f"{note[:1].upper()}{note[1:]}.",)


def _nothing_found(report: Report) -> tuple[str, ...]:
    if report.verdict.bound is Bound.UNKNOWN:
        return (NO_VERDICT,)
    if report.verdict.bound is Bound.COMPUTE:
        return (NOTHING,)
    # A model of the supply that does not explain the run has compared no change to the input.
    compared = report.verdict.bound is not Bound.INPUT or report.model is None or report.model.explains
    return (NO_RULE,) if compared else ()
