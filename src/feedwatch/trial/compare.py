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
# A mean is within so many standard errors of the truth in 95 of 100 cases: where the error is known well, and where it
# was told from the differences of 1, 2, 3 … blocks of the same thing (Student's t).
SIGMAS = 2.0
SIGMAS_OF_FEW = (12.7, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13)
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
        speedup(own, blocks, floor),
    )


def speedup(own: Sequence[Block], blocks: Sequence[Block], floor: float = FLOOR) -> Span | None:
    as_is = [block for block in blocks if block.variant.role is Role.AS_IS]
    if not as_is or own[0].variant.role is Role.AS_IS:
        return None
    pairs = [_against_neighbours(block, as_is) for block in own]
    gains = [gain for gain, _ in pairs]
    within = sum(error**2 for _, error in pairs) / len(pairs) ** 2
    known = unrest(blocks)
    own_variance = variance(gains) if len(gains) > 1 else 0.0
    between = max(own_variance, known.variance) * known.sigmas**2 / len(gains)
    width = math.sqrt(max(SIGMAS**2 * within, between) + (SIGMAS * floor) ** 2)
    return Span(math.exp(fmean(gains) - width), math.exp(fmean(gains) + width))


@dataclass(frozen=True, slots=True)
class Unrest:
    """What blocks of one and the same thing differ by, told from all that had more than one."""

    variance: float
    sigmas: float


def unrest(blocks: Sequence[Block]) -> Unrest:
    as_is = [block for block in blocks if block.variant.role is Role.AS_IS]
    # Neighbours of the run as it is differ by twice the variance of one.
    squares = [_apart(one, other) ** 2 / 2 for one, other in pairwise(as_is)]
    gains: dict[str, list[float]] = {}
    for block in blocks:
        if as_is and block.variant.role is not Role.AS_IS:
            gains.setdefault(block.variant.name, []).append(_against_neighbours(block, as_is)[0])
    repeated = [each for each in gains.values() if len(each) > 1]
    known = len(squares) + sum(len(each) - 1 for each in repeated)
    if not known:
        return Unrest(0.0, SIGMAS)
    total = sum(squares) + sum(variance(each) * (len(each) - 1) for each in repeated)
    return Unrest(total / known, SIGMAS_OF_FEW[min(known, len(SIGMAS_OF_FEW)) - 1])


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
