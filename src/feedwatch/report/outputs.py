"""The outputs that need no framework."""

from feedwatch.report.event_output import SummaryOutput, own_run

__all__ = ["SummaryOutput", "own_run"]
