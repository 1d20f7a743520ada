"""Whose turn it is. First every variant that is worth it gets one block, then those that matter get more, until their
intervals are narrow or the time is up. The run as it is comes first, last, and at least every few blocks.
"""

from collections.abc import Callable, Mapping
from typing import Final

from feedwatch.model.trial import Ended, Outcome, Role, Span, TrialRow, TrialSection
from feedwatch.trial.block import Block, BlockMeter
from feedwatch.trial.compare import FLOOR, Measured, drift, measured
from feedwatch.trial.search import AS_GOOD, Search, gain_of
from feedwatch.trial.variant import AS_IS, CEILING, Variant

# So many blocks of other variants at most stand between two of the run as it is.
BETWEEN: Final = 3
# A variant whose first block is this much slower is not asked again.
CLEARLY_SLOWER: Final = 0.9
LEAST_BLOCKS: Final = 2
# The best known is asked so many times at most: then its spread is the machine's, and more blocks will not help.
MOST_BLOCKS: Final = 6
# Of the time, how much a block may count.
BLOCK_SHARE: Final = 1 / 40
LEAST_BLOCK_S: Final = 0.5
MOST_BLOCK_S: Final = 3.0
# A block that the end of the time cut short counts from this share of its length on: less is a glimpse, not an answer.
CUT_SHORT: Final = 0.5
# An epoch that is shorter than so many blocks is counted whole, with its start.
SHORT_EPOCH_BLOCKS: Final = 2.0


def block_seconds(seconds: float) -> float:
    return min(MOST_BLOCK_S, max(LEAST_BLOCK_S, seconds * BLOCK_SHARE))


class Trial:
    def __init__(
        self,
        search: Search,
        seconds: float,
        *,
        as_is: Variant = AS_IS,
        epoch_seconds: float | None = None,
        predicted: Mapping[str, Span] | None = None,
        floor: float = FLOOR,
    ) -> None:
        """`as_is`: the run as it is, with its own lanes. `epoch_seconds`: how long an epoch takes, where that is known.
        `predicted`: by code of a rule, what was said before anything was measured.
        """
        self._search, self._seconds, self._as_is = search, seconds, as_is
        self._block_s = block_seconds(seconds)
        self.whole_epochs = epoch_seconds is not None and epoch_seconds < SHORT_EPOCH_BLOCKS * self._block_s
        self._predicted, self._floor = predicted or {}, floor
        self._blocks: list[Block] = []
        self._left_out: dict[str, TrialRow] = {}
        self._turns: dict[str, Variant] = {}  # every variant that had one, in order
        self._meter: BlockMeter | None = None
        self._began_ns: int | None = None
        self._now_ns = 0
        self._results: dict[str, Measured] | None = None
        self.notes: list[str] = []
        self.ended: Ended | None = None
        self.on_block: Callable[[], None] = lambda: None  # a block is done: somebody may want to show it

    # -- told by the loop ------------------------------------------------------------------------

    def turn(self, now_ns: int) -> Variant | None:
        """Between two steps: who gives the next batch. None: the trial is over."""
        self._now_ns = now_ns
        if self._began_ns is None:
            self._began_ns = now_ns
        meter = self._meter
        if meter is not None:
            meter.boundary(now_ns)
            late = self._late(now_ns)
            if not late and not meter.enough(now_ns):
                return meter.variant
            self._take(meter, now_ns)
        return self._next(now_ns)

    def ends_soon(self, now_ns: int) -> bool:
        """The step that has just ended may be the last of its block."""
        return self._meter is not None and self._meter.long_enough(now_ns)

    @property
    def counts_from_here(self) -> bool:
        """Warm-up is over: the next step is the first that counts."""
        return self._meter is not None and self._meter.counts_from_here

    def counts_from(self, now_ns: int) -> None:
        if self._meter is not None:
            self._meter.counts_from(now_ns)

    def waited(self, wait_ns: int) -> None:
        if self._meter is not None:
            self._meter.waited(wait_ns)

    def pause(self) -> None:
        if self._meter is not None:
            self._meter.pause()

    def restart(self, now_ns: int) -> None:
        if self._meter is not None:
            self._meter.restart(now_ns)

    @property
    def fresh(self) -> bool:
        """The variant in turn is to begin an epoch now."""
        meter = self._meter
        return meter is not None and self.whole_epochs and meter.variant.role is not Role.CEILING and meter.untouched

    def leave_out(self, variant: Variant, why: str, outcome: Outcome = Outcome.REFUSED) -> None:
        """It cannot be made, must not be, or raised."""
        self._left_out[variant.name] = _row(variant, outcome, note=why)
        self._blocks = [block for block in self._blocks if block.variant.name != variant.name]
        self._results = None
        if self._meter is not None and self._meter.variant.name == variant.name:
            self._meter = None

    def finish(self, ended: Ended) -> None:
        """However it came to an end. What was counted so far counts, if it is at least half a block."""
        if self.ended is None:
            self.ended = ended
            if self._meter is not None:
                self._take(self._meter, self._now_ns)

    # -- whose turn ------------------------------------------------------------------------------

    @property
    def current(self) -> Variant | None:
        return None if self._meter is None else self._meter.variant

    def done_with(self, name: str) -> bool:
        """It will not get another turn, as far as is known now."""
        if name in (self._as_is.name, CEILING.name):
            return False
        own = self.results.get(name)
        return own is not None and not any(each.name == name for each in self._open())

    def spent_s(self, now_ns: int) -> float:
        return 0.0 if self._began_ns is None else (now_ns - self._began_ns) / 1e9

    def _late(self, now_ns: int) -> bool:
        return self.spent_s(now_ns) >= self._seconds

    def _next(self, now_ns: int) -> Variant | None:
        if self.ended is not None:
            return None
        if self._late(now_ns):
            self.ended = Ended.TIME_IS_UP
            return None
        variant = self._choose()
        if variant is None:
            if self._blocks and self._blocks[-1].variant.role is Role.AS_IS:
                self.ended = Ended.DECIDED
                return None
            variant = self._as_is
        # The last block is one of the run as it is: time is kept for it.
        elif self.spent_s(now_ns) > self._seconds - 2 * self._block_s:
            variant = self._as_is
        self._begin(variant, now_ns)
        return variant

    def _begin(self, variant: Variant, now_ns: int) -> None:
        first = variant.name not in self._turns
        self._turns.setdefault(variant.name, variant)
        epochs = self.whole_epochs and variant.role is not Role.CEILING
        self._meter = BlockMeter(variant, self._block_s, whole_epochs=epochs, first=first)
        self._meter.boundary(now_ns)

    def _take(self, meter: BlockMeter, now_ns: int) -> None:
        self._meter = None
        block = meter.block(now_ns)
        least_ns = 0.0 if meter.enough(now_ns) else CUT_SHORT * self._block_s * 1e9
        if block is not None and block.counted_ns >= least_ns:
            self._blocks.append(block)
            self._results = None
            self.on_block()

    def _choose(self) -> Variant | None:
        """None: there is nothing left to find out."""
        as_is = [at for at, block in enumerate(self._blocks) if block.variant.role is Role.AS_IS]
        if not as_is:
            return self._as_is
        if self._count(CEILING.name) == 0 and CEILING.name not in self._left_out:
            return CEILING
        since = len(self._blocks) - 1 - as_is[-1]
        if since >= BETWEEN:
            return self._as_is
        fresh = self._search.next(self.results, frozenset(self._left_out))
        if fresh is not None:
            return fresh
        open_ones = self._open()
        if not open_ones:
            return None
        # In turns: the one with the fewest blocks, behind a block of the run as it is.
        return self._as_is if since >= min(BETWEEN, len(open_ones)) else min(open_ones, key=self._count_of)

    def _open(self) -> list[Variant]:
        """Variants whose answer matters and is not known well enough."""
        picked = self._search.pick(self.results)
        best = gain_of(AS_IS.name if picked is None else picked.name, self.results)
        found = []
        for name, variant in self._turns.items():
            own = self.results.get(name)
            if variant.role is Role.AS_IS or own is None or own.middle is None or own.blocks >= MOST_BLOCKS:
                continue
            chosen = picked is not None and name == picked.name
            might_win = own.speedup is not None and own.speedup.high > best * AS_GOOD and own.middle > best
            matters = variant.role is Role.CEILING or variant.advised or chosen or might_win
            slower = own.middle < CLEARLY_SLOWER
            if matters and not slower and (own.blocks < LEAST_BLOCKS or not own.narrow):
                found.append(variant)
        return found

    def _count(self, name: str) -> int:
        return sum(block.variant.name == name for block in self._blocks)

    def _count_of(self, variant: Variant) -> int:
        return self._count(variant.name)

    # -- what is known ---------------------------------------------------------------------------

    @property
    def results(self) -> dict[str, Measured]:
        if self._results is None:
            found = {name: measured(name, self._blocks, self._floor) for name in self._turns}
            self._results = {name: each for name, each in found.items() if each is not None}
        return self._results

    @property
    def picked(self) -> Variant | None:
        """The best setting that was tried, where it is surely faster, or as fast with less."""
        variant = self._search.pick(self.results)
        own = None if variant is None else self.results.get(variant.name)
        if variant is None or own is None or own.speedup is None:
            return None
        return variant if own.outcome in (Outcome.FASTER, Outcome.SAME) else None

    def section(self, now_ns: int) -> TrialSection:
        ceiling = self.results.get(CEILING.name)
        picked = self.picked
        rows = [self._measured_row(variant) for name, variant in self._turns.items() if name not in self._left_out]
        return TrialSection(
            ended=self.ended or Ended.NOT_BEGUN,
            seconds=self.spent_s(now_ns),
            rows=(*rows, *self._left_out.values()),
            picked=None if picked is None else picked.name,
            ceiling=None if ceiling is None else ceiling.speedup,
            drift=drift(self._blocks),
            notes=tuple(self.notes),
        )

    def _measured_row(self, variant: Variant) -> TrialRow:
        own = self.results.get(variant.name)
        if own is None:
            return _row(variant, Outcome.UNDECIDED, note="the time was up before a whole block was counted")
        asked = variant.codes if variant.advised else ()
        predicted = next((self._predicted[code] for code in asked if code in self._predicted), None)
        return TrialRow(
            name=variant.name,
            role=variant.role,
            outcome=own.outcome if variant.role is not Role.AS_IS else Outcome.SAME,
            settings=dict(variant.settings),
            codes=variant.codes,
            advised=variant.advised,
            step_ms=own.step_ns / 1e6,
            wait_share=own.wait_share,
            speedup=own.speedup,
            predicted=predicted,
            contradicts=_apart(own.speedup, predicted),
            blocks=own.blocks,
            steps=own.steps,
            seconds=own.counted_ns / 1e9,
        )


def _row(variant: Variant, outcome: Outcome, note: str) -> TrialRow:
    settings, codes = dict(variant.settings), variant.codes
    return TrialRow(variant.name, variant.role, outcome, settings, codes, variant.advised, note=note)


def _apart(measured_span: Span | None, predicted: Span | None) -> bool:
    if measured_span is None or predicted is None:
        return False
    return measured_span.high < predicted.low or measured_span.low > predicted.high
