"""From blocks to factors: each block is compared with the blocks of the run as it is before and behind it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, variance

from feedwatch.model.trial import Outcome, Role, Span
from feedwatch.trial.block import Block

# What two trainings of one script differ by, however long each is watched: where threads and memory happen to be.
FLOOR = 0.012
# A mean of several blocks is within so many standard errors of the truth in 95 of 100 cases.
SIGMAS = 2.1
# A smaller difference is none: nobody would make an edit for it.
NO_DIFFERENCE = 0.03
# An interval that is not wider than this to each side answers the question.
NARROW = 0.05


@dataclass(frozen=True, slots=True)
class Measured:
    """All blocks of one variant."""

    blocks: int
    steps: int
    counted_ns: int
    step_ns: float
    wait_share: float | None
    speedup: Span | None  # None: there is nothing beside it to compare with

    @property
    def middle(self) -> float | None:
        return None if self.speedup is None else math.sqrt(self.speedup.low * self.speedup.high)

    @property
    def outcome(self) -> Outcome:
        return Outcome.UNDECIDED if self.speedup is None else outcome_of(self.speedup)

    @property
    def narrow(self) -> bool:
        """The question is answered: by a narrow interval, or by one that holds no difference worth an edit."""
        return self.speedup is not None and self.speedup.high / self.speedup.low <= (1 + NARROW) ** 2


def outcome_of(speedup: Span) -> Outcome:
    if speedup.low >= 1 - NO_DIFFERENCE and speedup.high <= 1 + NO_DIFFERENCE:
        return Outcome.SAME
    if speedup.low > 1:
        return Outcome.FASTER
    return Outcome.SLOWER if speedup.high < 1 else Outcome.UNDECIDED


def measured(name: str, blocks: Sequence[Block], floor: float = FLOOR) -> Measured | None:
    """`blocks`: of all variants, in the order they were measured. `floor`: what cannot be told apart here."""
    own = [block for block in blocks if block.variant.name == name]
    if not own:
        return None
    steps, counted_ns = sum(block.steps for block in own), sum(block.counted_ns for block in own)
    waits = [block.wait_ns for block in own]
    wait_ns = None if any(each is None for each in waits) else sum(each or 0 for each in waits)
    return Measured(
        len(own),
        steps,
        counted_ns,
        counted_ns / steps / own[0].variant.batches,
        None if wait_ns is None else wait_ns / counted_ns,
        speedup(own, [block for block in blocks if block.variant.role is Role.AS_IS], floor),
    )


def speedup(own: Sequence[Block], as_is: Sequence[Block], floor: float = FLOOR) -> Span | None:
    if not as_is or own[0].variant.role is Role.AS_IS:
        return None
    pairs = [_against_neighbours(block, as_is) for block in own]
    gains = [gain for gain, _ in pairs]
    within = sum(error**2 for _, error in pairs) / len(pairs) ** 2
    # What blocks of one and the same thing differ by: of the run as it is, whose neighbours differ by it, too.
    alike = [_apart(one, other) for one, other in pairwise(as_is)]
    unrest = fmean(each**2 for each in alike) / 2 if alike else 0.0
    between = max(variance(gains) if len(gains) > 1 else 0.0, unrest) / len(gains)
    width = SIGMAS * math.sqrt(max(within, between) + floor**2)
    return Span(math.exp(fmean(gains) - width), math.exp(fmean(gains) + width))


def _apart(one: Block, other: Block) -> float:
    return math.log(one.step_ns / other.step_ns)


def _against_neighbours(block: Block, as_is: Sequence[Block]) -> tuple[float, float]:
    """The logarithm of the factor, and its standard error. A machine that becomes slower or faster during the trial
    does so for both: what the run as it is would have taken at this moment lies between its two neighbours.
    """
    before = [each for each in as_is if each.middle_ns <= block.middle_ns][-1:]
    behind = [each for each in as_is if each.middle_ns > block.middle_ns][:1]
    near = before + behind
    if len(near) == 1:
        weights = [1.0]
    else:
        share = (block.middle_ns - near[0].middle_ns) / (near[1].middle_ns - near[0].middle_ns)
        weights = [1 - share, share]
    expected = sum(weight * math.log(each.step_ns) for weight, each in zip(weights, near, strict=True))
    error = math.sqrt(sum((weight * each.error) ** 2 for weight, each in zip(weights, near, strict=True)))
    # Two neighbours that differ say how far the machine moved meanwhile.
    moved = abs(_apart(*near)) / 4 if len(near) == 2 else 0.0
    return expected - math.log(block.step_ns), math.sqrt(error**2 + block.error**2 + moved**2)


def drift(blocks: Sequence[Block]) -> float | None:
    """The run as it is, last block to first."""
    as_is = [block for block in blocks if block.variant.role is Role.AS_IS]
    return as_is[-1].step_ns / as_is[0].step_ns if len(as_is) > 1 else None
