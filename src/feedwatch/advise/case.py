"""All that a rule may look at."""

from dataclasses import dataclass

from feedwatch.model.account import Account
from feedwatch.model.facts import Facts
from feedwatch.model.report import RanksSection
from feedwatch.model.steps import Counts, EpochBoundaries, PhaseTime, Startup, Window
from feedwatch.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Case:
    verdict: Verdict
    run: Window | None  # all trusted steady steps as one window; None without any
    facts: Facts
    startup: Startup = Startup()
    boundaries: EpochBoundaries = EpochBoundaries()
    counts: Counts = Counts()
    account: Account | None = None  # the whole run from the first steady step on; None without one
    ranks: RanksSection | None = None  # only where the files of several ranks are read together

    def phase(self, name: str) -> PhaseTime | None:
        return None if self.run is None else self.run.phases.get(name)
