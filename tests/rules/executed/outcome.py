"""What one training run tells: feedwatch's report and the wall time of the loop."""

from typing import NamedTuple

from feedwatch.model.report import Report
from feedwatch.model.verdict import Finding

WARM_UP = 4


class Outcome(NamedTuple):
    report: Report
    loop_s: float  # from the beginning to the end of training
    step_ends_s: tuple[float, ...] = ()

    @property
    def steps_per_s(self) -> float:
        """All pairs keep their batch size, so steps are samples; not every pipeline tells how many those are."""
        verdict = self.report.verdict
        if verdict.samples_per_s and self.report.steps.samples:
            return verdict.samples_per_s * self.report.steps.batches / self.report.steps.samples
        steady = self.step_ends_s[WARM_UP:]
        return (len(steady) - 1) / (steady[-1] - steady[0])

    def finding(self, code: str) -> Finding | None:
        return next((one for one in self.report.findings if one.code == code), None)
