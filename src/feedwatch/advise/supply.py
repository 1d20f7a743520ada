"""The run as it is, explained by the model, and what another plan would gain.

The model has to explain the run before it may say anything about a change: its error on the run as it is widens every
range, beyond 15 % the report says so, and far beyond that no change is compared.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from statistics import fmean
from typing import Final

from feedwatch.advise.as_is import plan_as_is
from feedwatch.advise.case import Case
from feedwatch.advise.gains import COLDEST, MOST, cold_ms
from feedwatch.advise.plan import CROWDED, EVEN, UNEVEN, USUAL, Plan
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import GAP, Account
from feedwatch.model.facts import Facts
from feedwatch.model.steps import COMPUTE
from feedwatch.model.verdict import Basis, Gain, Pace, PaceStage

# Two runs of one script differ by a few per cent on a quiet machine.
NOISE: Final = 0.05
# Of the logarithm of a gain: the more a change is said to gain, the more the model may be wrong about it, besides what
# is varied below. Chosen, as the shares of warmth are, so that ranges on the scripts of gains.py are narrow and mostly
# hold.
UNSURE: Final = 0.06
# A model that is off by more than this is not asked about changes.
USABLE: Final = 1.7
# Loading that is less than half of what it was no longer empties the caches.
LIGHT: Final = 0.5
# Of what a step usually gains by that: surely, and at most.
LEAST_WARM: Final = 0.6
MOST_WARM: Final = 1.2
# Threads that wake often are delayed often, on an idle machine too: so much of a delay may be only that.
MERE_WAKE_UPS: Final = 0.7
# To find a share within a thousandth; what is as close as this explains the run.
HALVINGS: Final = 10
CLOSE: Final = 0.005
# Of the ends of epochs, those that wait for tf.data's tuner, and how many ends of the run itself that knowledge is
# worth (measured on 14 pipelines with 2 to 10 epochs each: 15 to 80 %).
USUALLY_ASLEEP: Final = 0.4
USUAL_ENDS: Final = 4.0
# Many calls at once may take longer than the run together, but not longer than all of them could.
LONGEST: Final = 100.0


@dataclass(frozen=True, slots=True)
class Supply:
    """The run as it is, explained."""

    plan: Plan
    account: Account
    error: float  # of the model: measured / modelled; 1.0 is perfect
    luck_ms: float = 0.0  # per batch: what a run with usual luck takes more, see _with_usual_luck
    quick_ms: float | None = None  # computing of a batch in the quickest steps
    kept: float = 0.0  # share of the step's wait for CPUs with which the model explains the run best

    @property
    def now_ms(self) -> float:
        """A batch of the run as it is, with usual luck."""
        return self.account.batch_ms + self.luck_ms

    @property
    def explains(self) -> bool:
        limit = 1 + THRESHOLDS.model_error
        return 1 / limit <= self.error <= limit

    @property
    def usable(self) -> bool:
        """Far off, the model has missed what the run is about, and its word on a change is worth nothing."""
        return 1 / USABLE <= self.error <= USABLE

    @property
    def ceiling(self) -> float:
        """The best that any change to the input could do, estimated: every batch in memory, the CPUs to the step."""
        resident = replace(self.plan.resident(), asleep=self.plan.asleep * BEST_GUESS.paused)
        best_ms = min(self._warm(self._unrelieved(resident, 0.0), COLDEST).batch_ms(), self._quick(resident).batch_ms())
        return max(1.0, self.now_ms / max(best_ms, self.now_ms / MOST))

    def _quick(self, plan: Plan) -> Plan:
        """With every step as quick as one in twenty is now: nothing held those up."""
        computing_ms = self.account.ms(COMPUTE) or 0.0
        spared_ms = 0.0 if self.quick_ms is None else max(0.0, computing_ms - self.quick_ms)
        step_ms = max(0.0, plan.step_ms + plan.relief_ms - spared_ms)
        return replace(plan, step_ms=step_ms, step_cpu_ms=min(plan.step_cpu_ms, step_ms * plan.cpus), relief_ms=0.0)

    def _unrelieved(self, plan: Plan, kept: float) -> Plan:
        """Of its wait for the CPUs that loading had, the step keeps all where loading stays as it is, and this share,
        which is mere wake-ups, where loading is gone.
        """
        before_ms = self.plan.load_cpu_ms
        gone = min(1.0, max(0.0, 1 - plan.load_cpu_ms / before_ms)) if before_ms > 0 else 0.0
        left = (1 - gone) * self.kept + gone * min(kept, self.kept)
        step_ms = plan.step_ms + left * plan.relief_ms
        # What math threads burnt while they waited for each other is gone with the waiting.
        spun_ms = max(0.0, plan.step_cpu_ms - step_ms * plan.cpus) if plan.relief_ms else 0.0
        step_cpu_ms = plan.step_cpu_ms - gone * spun_ms
        return replace(plan, step_ms=step_ms, step_cpu_ms=step_cpu_ms, relief_ms=0.0)

    def _warm(self, plan: Plan, share: float = 1.0) -> Plan:
        """Where loading no longer runs between the steps, a step finds its data in the CPU's caches."""
        heavy = plan.load_cpu_ms > LIGHT * self.plan.load_cpu_ms
        if heavy and plan.handover_ms >= self.plan.handover_ms:
            return plan
        # Loading that takes a moment cannot have emptied more than it had time for.
        gone_ms = self.plan.load_cpu_ms - plan.load_cpu_ms + self.plan.handover_ms - plan.handover_ms
        return replace(plan, step_ms=plan.step_ms - share * min(cold_ms(plan.step_ms, plan.chilled), max(0.0, gone_ms)))

    def _takes_ms(self, plan: Plan, guess: "Guess") -> float:
        """How long a batch of this plan takes if that is how the machine behaves.

        What the model does not explain of the run as it is may go with what the change removes, and stays with the
        rest.
        """
        modelled_ms, now_ms = self._behaves_ms(plan, guess), self.now_ms
        removed = min(1.0, max(0.0, 1 - modelled_ms * self.error / now_ms))
        # Where the model is too slow for the run as it is, it must not be made faster than training without any input.
        least_ms = max(self._behaves_ms(plan.resident(), guess), now_ms / MOST)
        stays = math.exp((1 - removed * (1 - guess.blind)) * math.log(self.error))
        return max(modelled_ms * stays, least_ms)

    def _behaves_ms(self, plan: Plan, guess: "Guess") -> float:
        return self._behaved(plan, guess).batch_ms(guess.crowding, guess.evenness)

    def _behaved(self, plan: Plan, guess: "Guess") -> Plan:
        paused = replace(plan, asleep=min(1.0, plan.asleep * guess.paused))
        return self._warm(self._unrelieved(paused, guess.kept), guess.warm)

    def gain(self, best: Plan, because: str, *, worst: Plan | None = None) -> Gain:
        """From the run as it is to this plan. `worst`: the plan at the low end, where that is uncertain too.

        Nobody knows all of how the machine will behave, but it is not wrong about everything at once: each guess is
        varied by itself, and the logarithms of what that does add up as independent errors do.
        """
        ends = best, worst or best
        ends_ms = [self._takes_ms(plan, USUAL_GUESS) for plan in ends]
        usual_ms = math.sqrt(ends_ms[0] * ends_ms[1])
        unsure = [math.log(1 + NOISE), UNSURE * max(0.0, math.log(self.now_ms / usual_ms))]
        faster, slower = [*unsure], [*unsure]
        faster.append(max(0.0, math.log(usual_ms / min(ends_ms))))
        slower.append(max(0.0, math.log(max(ends_ms) / usual_ms)))
        for one in _varied():
            shift = fmean(
                math.log(self._takes_ms(plan, one) / plan_ms) for plan, plan_ms in zip(ends, ends_ms, strict=True)
            )
            (slower if shift > 0 else faster).append(shift)
        now_ms = self.now_ms
        # The report shows the ceiling beside the range: no change to the input promises more than having no input.
        high = min(now_ms / usual_ms * math.exp(math.hypot(*faster)), self.ceiling)
        low = now_ms / usual_ms / math.exp(math.hypot(*slower))
        return Gain(min(low, high), high, Basis.PREDICTED, because, pace=self._pace(best))

    def _pace(self, plan: Plan) -> Pace:
        """A usual batch under this plan, without what happens once in an epoch."""
        guess = USUAL_GUESS
        off = self._takes_ms(plan, guess) / max(self._behaves_ms(plan, guess), 1e-9)
        usual = replace(self._behaved(plan, guess), start_ms=0.0, aside_ms=0.0, asleep=0.0, cold=0.0)
        return Pace(
            batch_ms=usual.batch_ms(guess.crowding, guess.evenness) * off,
            step_ms=(usual.step_ms + usual.handover_ms) * off,
            ahead=usual.ahead,
            stages=tuple(_pace_stages(usual, off)),
        )


def _pace_stages(plan: Plan, off: float) -> Iterator[PaceStage]:
    """What runs one after the other on the same threads is one stage, called after the longest part of it."""
    for threads in sorted({work.threads for work in plan.loading}):
        works = [work for work in plan.loading if work.threads == threads]
        longest = max(works, key=lambda work: work.busy_ms / work.lanes)
        if longest.busy_ms > 0:
            each_ms = plan.threads_ms(threads) * longest.lanes
            yield PaceStage(longest.name.lstrip("0123456789 "), each_ms * off, longest.lanes)


@dataclass(frozen=True, slots=True)
class Guess:
    """What the machine may do, between its best and its worst."""

    evenness: float  # how regularly batches come
    crowding: float  # how much more CPU time the same work takes where the CPUs are full
    warm: float  # of what a step usually gains by warm caches
    kept: float  # share of the wait for CPUs that stays although the loading is gone: mere wake-ups
    blind: float  # share of the model's error on the run as it is that stays although its cause may be gone
    paused: float  # of the share of epochs that end with a pause: chance makes it more or less


USUAL_GUESS: Final = Guess(
    evenness=USUAL, crowding=(1 + CROWDED) / 2, warm=1.0, kept=MERE_WAKE_UPS / 2, blind=0.5, paused=1.0
)
BEST_GUESS: Final = Guess(evenness=EVEN, crowding=1.0, warm=MOST_WARM, kept=0.0, blind=0.0, paused=0.3)
WORST_GUESS: Final = Guess(
    evenness=UNEVEN, crowding=CROWDED, warm=LEAST_WARM, kept=MERE_WAKE_UPS, blind=1.0, paused=1.7
)


def _varied() -> Iterator[Guess]:
    """The usual guess with one thing at its best or at its worst."""
    for end in (BEST_GUESS, WORST_GUESS):
        for part in fields(Guess):
            yield replace(USUAL_GUESS, **{part.name: getattr(end, part.name)})


def supply(case: Case) -> Supply | None:
    """None: too little is known of the run, or its figures contradict each other."""
    account = case.account
    if account is None or case.run is None or case.run.steps < THRESHOLDS.min_steady_steps:
        return None
    known, computing = _explain(case.facts, account.typical), case.run.phases.get(COMPUTE)
    if known is None or computing is None or computing.quick_ns is None:
        return known
    return replace(known, quick_ms=computing.quick_ns / 1e6 * case.run.steps / max(1, case.run.batches))


def _explain(facts: Facts, account: Account) -> Supply | None:
    if contradiction(facts, account) is not None:
        return None
    plan = plan_as_is(facts, account)
    if plan is None:
        return None
    plan, luck_ms = _with_usual_luck(plan, account)
    now_ms = account.batch_ms + luck_ms
    # The step had no CPU for a part of its time because of the loading, which the model sees, or because of wake-ups,
    # which it does not. Between the two the run is explained.
    kept = _kept(plan, now_ms)
    modelled_ms = replace(plan, step_ms=plan.step_ms + kept * plan.relief_ms).batch_ms()
    if not (modelled_ms > 0 and math.isfinite(modelled_ms)):
        return None
    error = now_ms / modelled_ms
    return Supply(plan, account, 1.0 if math.isclose(error, 1.0, abs_tol=CLOSE) else error, luck_ms, kept=kept)


def _with_usual_luck(plan: Plan, account: Account) -> tuple[Plan, float]:
    """How many of a few epochs ended with a wait for tf.data's tuner is chance, and the next run will have other luck:
    what was seen counts as much as there was to see. With it what that costs more per batch.
    """
    if not plan.asleep or not plan.epoch_batches or not account.epochs:
        return plan, 0.0
    seen = plan.asleep * account.epochs + USUALLY_ASLEEP * USUAL_ENDS
    usual = replace(plan, asleep=seen / (account.epochs + USUAL_ENDS))
    return usual, max(-(account.ms(GAP) or 0.0), usual.batch_ms() - plan.batch_ms())


def _kept(plan: Plan, batch_ms: float) -> float:
    """How much of the relief the step must keep for the model to give this time, as far as that explains it."""
    low, high = 0.0, 1.0
    if plan.relief_ms <= 0 or plan.batch_ms() >= batch_ms:
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = replace(plan, step_ms=plan.step_ms + middle * plan.relief_ms).batch_ms() < batch_ms
        low, high = (middle, high) if below else (low, middle)
    return high


def contradiction(facts: Facts, account: Account) -> str | None:
    """Figures that cannot all be true silence the model; a note says which."""
    if any((value or 0) < 0 for value in account.parts_ns.values()):
        return "a part of the run took less than no time"
    host = facts.host
    if host.cpu_budget is not None and host.cpu_budget <= 0:
        return "the process may use no CPU"
    # A quota is kept on average; for a moment a process uses more.
    if host.cpu_budget and host.cpu_used is not None and host.cpu_used > 1.5 * host.cpu_budget + 0.5:
        return "more CPU time was used than there are CPUs"
    rates = (host.cpu_used, host.process_cpus, host.training_cpus, host.training_delay, host.process_delay)
    if any((value or 0.0) < 0 for value in rates):
        return "less than no CPU time was used"
    loader, run_ms = facts.pipeline.loader, account.wall_ns / 1e6
    if loader is not None:
        times = (loader.load_ms, loader.collate_ms, loader.delivery_ms)
        if any(not 0 <= (value or 0.0) <= LONGEST * run_ms for value in times):
            return "loading took less than no time, or longer than the run"
        if any(not 0 <= (value or 0.0) <= 1.01 for value in (loader.cpu_share, loader.blocked_share)):
            return "a share of the workers' time is no share"
    tf_data = facts.pipeline.tf_data
    if tf_data is not None and any(not 0 <= (one.ms_per_batch or 0.0) <= LONGEST * run_ms for one in tf_data.stages):
        return "a stage took less than no time, or longer than the run"
    return None
