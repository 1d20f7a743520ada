"""A rule: constant text plus two pure functions."""

from collections.abc import Callable
from dataclasses import dataclass
from string import Template

from feedwatch.advise.case import Case
from feedwatch.model.verdict import Bound, Evidence, Finding, Fix, Gain

Check = Callable[[Case], Evidence | None]
Predict = Callable[[Case, Evidence], Gain | None]


@dataclass(frozen=True, slots=True)
class Page:
    """The same five headings for every rule."""

    sees: str
    why: str
    fix: str
    leave: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    code: str  # permanent, never given to another rule
    name: str  # says what is wrong
    title: str  # says what to do; a template, as are before and after: filled from the evidence's blanks
    before: str
    after: str
    page: Page
    symptoms: tuple[str, ...]  # what a person notices, for the index
    relieves: Bound  # the part of the step that the fix makes shorter; UNKNOWN for plain notices
    edit_lines: int  # size of the change, to break ties
    needs: tuple[str, ...]  # facts without which it is silent (`Class.field`); a test finds them in its cases
    check: Check
    predict: Predict

    def finding(self, evidence: Evidence, gain: Gain | None) -> Finding:
        return Finding(
            code=self.code,
            name=self.name,
            title=_filled(self.title, evidence),
            why=evidence.says,
            evidence=dict(evidence.numbers),
            fix=Fix(_filled(self.before, evidence), _filled(self.after, evidence)),
            gain=gain,
        )


def no_gain(_case: Case, _evidence: Evidence) -> Gain | None:
    """For notices: worth knowing, nothing to gain by itself."""
    return None


def _filled(text: str, evidence: Evidence) -> str:
    """`substitute`, not `safe_substitute`: a blank left open is a defect that a test must see."""
    return Template(text).substitute(evidence.blanks)
