"""A rule: one function that says what to change and what that is worth, and one page of Markdown.

    @rule(PAGE, knob="prefetch", relieves=Bound.INPUT, symptoms=(...), edit_lines=1, needs=("PipelineFacts.tf_data",))
    def RULE(case: Case) -> Found | None:
        ...

Code and name come from the module: `fw121_missing_prefetch` is FW121, missing-prefetch.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.model.verdict import Bound, Finding, Fix, Gain

HEADINGS: Final = ("What it sees", "Why it costs", "Fix", "When to leave it", "References")


class Alters(str, Enum):
    """What a change does to the training besides its speed. A change that alters nothing is safe to paste."""

    ORDER = "order"  # batches or elements come in another order
    RANDOMNESS = "randomness"  # other random numbers are drawn
    PRECISION = "precision"  # arithmetic is rounded in another way
    UPDATES = "updates"  # other updates of the weights: another batch size, samples left out
    CODE = "code"  # a sketch of code that has to be fitted to the user's own


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found in this run, in the user's own numbers."""

    title: str  # says what to do
    says: str  # one or two sentences: what was measured
    numbers: dict[str, float]
    before: str
    after: str  # only what changes: the rest of the user's call is `...`
    gain: Gain | None = None  # None: worth knowing, but nothing to gain by itself
    alters: tuple[Alters, ...] = ()


Check = Callable[[Case], Found | None]


@dataclass(frozen=True, slots=True)
class Rule:
    code: str  # permanent, never given to another rule
    name: str  # says what is wrong
    page: str  # Markdown below the five headings
    knob: str  # what the user turns; of several changes to one knob only the best is shown
    relieves: Bound  # the part of the run that the change makes shorter; UNKNOWN for plain notices
    symptoms: tuple[str, ...]  # what a person notices, for the index
    edit_lines: int  # size of the change, to break ties
    needs: tuple[str, ...]  # facts without which it is silent (`Class.field`); a test finds them in its cases
    check: Check

    def finding(self, found: Found) -> Finding:
        return Finding(
            code=self.code,
            name=self.name,
            title=found.title,
            why=found.says,
            evidence=dict(found.numbers),
            fix=Fix(found.before, found.after),
            gain=found.gain,
            alters=tuple(each.value for each in found.alters),
        )


def rule(
    page: str, *, knob: str, relieves: Bound, symptoms: tuple[str, ...], edit_lines: int, needs: tuple[str, ...]
) -> Callable[[Check], Rule]:
    def made(check: Check) -> Rule:
        match = re.fullmatch(r"(fw\d{3})_(\w+)", check.__module__.rpartition(".")[2])
        if match is None:
            raise ValueError(f"a rule lives in a module fwNNN_its_name, not in {check.__module__}")
        code, name = match.group(1).upper(), match.group(2).replace("_", "-")
        return Rule(code, name, page.strip(), knob, relieves, symptoms, edit_lines, needs, check)

    return made
