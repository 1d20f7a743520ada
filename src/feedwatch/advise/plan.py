"""The model of the supply: what one batch needs of each resource, and how long it takes therefore.

A `Plan` is a way to run the training: the run as it is, or with one thing changed. Every change is compared by the same
arithmetic. The resources are the training thread, the lanes of the loading stages (workers, parallel calls), the CPUs
of this process, and the interpreter's lock. A batch takes as long as the most loaded of them, and a little more where
two are nearly as loaded; what cannot overlap is added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from feedwatch.advise.epoch_ends import usual_rest_of_sleep_ms

# Resources that are nearly as loaded as the most loaded one hold each other up: times vary, and a queue is finite.
# These exponents cover what lanes, queues and a training thread that share the CPUs fairly do in a simulation (1 to 4
# lanes, queues of two batches per lane, times that vary by 10 to 40 %): where two are equally loaded a batch takes 1 to
# 12 % longer than either, and up to 24 % where four lanes make one batch together.
EVEN: Final = 16.0
USUAL: Final = 8.0
UNEVEN: Final = 5.0
# The same work needs more CPU time where all CPUs are busy: caches, memory and page faults are shared. Decoding JPEG
# files in two processes on two CPUs took 1.0 to 1.5 times the CPU time of one (measured); hashing 1.04.
CROWDED: Final = 1.4
# Up to this load of the CPUs there is room for everybody.
BUSY_SHARE: Final = 0.5
# How long an epoch will last under a plan is known no better than this.
UNSURE_EPOCH: Final = 0.25


@dataclass(frozen=True, slots=True)
class Work:
    """One stage of loading, for one batch."""

    name: str
    cpu_ms: float  # computing, on a CPU of its own
    wait_ms: float = 0.0  # waiting for storage, network or a device: needs no CPU
    lanes: float = 1.0  # so many of it at once
    threads: int = 0  # stages with the same number run one after the other on the same threads
    lock_ms: float = 0.0  # part of cpu_ms that holds the interpreter's lock of the training process
    stretch: float = 1.0  # time on the wall for a unit of CPU time: more than 1 where other programs want the CPUs too

    @property
    def own_ms(self) -> float:
        """On a machine of its own."""
        return self.cpu_ms + self.wait_ms

    @property
    def busy_ms(self) -> float:
        return self.cpu_ms * self.stretch + self.wait_ms


@dataclass(frozen=True, slots=True)
class Plan:
    """One batch of a run, in milliseconds."""

    loading: tuple[Work, ...]  # in the order data flows
    ahead: bool  # the last stages work while the step runs
    step_ms: float  # copy, compute and other, if loading took none of their CPUs
    step_cpu_ms: float  # CPU time of the step: math threads included, spinning not
    cpus: float
    busy: float = 0.0  # share of the CPUs that was busy when these times were measured
    handover_ms: float = 0.0  # the training thread takes over a finished batch
    handover_cpu_ms: float = 0.0  # CPU time for that, wherever it is spent
    start_ms: float = 0.0  # epoch starts, per batch: what training waits for the first one
    first: float = 0.0  # share of the batches that are the first of an epoch: who loads beside the step makes them then
    cold: float = 0.0  # share of an epoch's batches that are made before its first one is given out
    aside_ms: float = 0.0  # validation and gaps, per batch
    epoch_batches: float = 0.0  # 0: no epoch ended
    asleep: float = 0.0  # share of the epochs that end with a wait for tf.data's tuner (epoch_ends.py)
    relief_ms: float = 0.0  # part of the step as measured in which loading had its CPU; not in step_ms
    chilled: float = 0.0  # share of a short step that goes with the loading, see gains.py

    def batch_ms(self, crowding: float = 1.0, evenness: float = USUAL) -> float:
        """`crowding`: how much more CPU time the work takes where the CPUs are full; `evenness`: how regularly batches
        come.
        """
        dear = self._crowded(crowding)
        exposed_ms = 0.0 if dear.ahead else dear.threads_ms(dear.last_threads)
        training_ms = exposed_ms + dear.step_ms + dear.handover_ms
        beside = {work.threads for work in dear.loading} - (set() if dear.ahead else {dear.last_threads})
        lanes_ms = [(1 - dear.first) * dear.threads_ms(threads) for threads in beside]
        lock_ms = sum(work.lock_ms * work.stretch for work in dear.loading)
        loads_ms = (training_ms, *lanes_ms, (dear.cpu_ms - dear.first * dear.load_cpu_ms) / dear.cpus)
        # The lock is held by the lanes' own work: it is no resource beside them, only their limit.
        steady_ms = max(soft_max(evenness, loads_ms), lock_ms) if beside else training_ms
        supply_ms = soft_max(evenness, (exposed_ms, *lanes_ms, dear.load_cpu_ms / dear.cpus))
        # While a shuffle buffer fills nothing overlaps: these batches cost their loading and, later, their step.
        alone_ms = supply_ms + dear.step_ms + dear.handover_ms
        awake_ms = dear.cold * alone_ms + (1 - dear.cold) * steady_ms + dear.start_ms + dear.aside_ms
        return awake_ms + dear.asleep_ms(awake_ms)

    def asleep_ms(self, awake_ms: float) -> float:
        """The pauses between epochs, per batch: an epoch that is shorter ends with a shorter one."""
        if not self.asleep or not self.epoch_batches:
            return 0.0
        return self.asleep * usual_rest_of_sleep_ms(awake_ms * self.epoch_batches, UNSURE_EPOCH) / self.epoch_batches

    @property
    def load_cpu_ms(self) -> float:
        return sum(work.cpu_ms for work in self.loading)

    @property
    def cpu_ms(self) -> float:
        return self.load_cpu_ms + self.step_cpu_ms + self.handover_cpu_ms

    @property
    def last_threads(self) -> int:
        return self.loading[-1].threads if self.loading else -1

    def threads_ms(self, threads: int) -> float:
        """How often these threads hand on a batch."""
        return sum(work.busy_ms / work.lanes for work in self.loading if work.threads == threads)

    def resident(self) -> "Plan":
        """The same training with every batch already in memory."""
        return replace(self, loading=(), ahead=True, handover_ms=0.0, handover_cpu_ms=0.0, start_ms=0.0, cold=0.0)

    def with_loading(self, edit: Callable[[Work], Work]) -> "Plan":
        return replace(self, loading=tuple(edit(work) for work in self.loading))

    def with_less(self, *, cpu: float = 1.0, wait: float = 1.0) -> "Plan":
        """So much of the computing and of the waiting of every stage is left."""
        return self.with_loading(
            lambda work: replace(
                work, cpu_ms=work.cpu_ms * cpu, wait_ms=work.wait_ms * wait, lock_ms=work.lock_ms * cpu
            )
        )

    def _crowded(self, crowding: float) -> "Plan":
        """On a CPU device the step shares the CPUs with loading, so it becomes dearer too."""
        if crowding <= 1.0 or not self.loading or self.cpus <= 0:
            return self
        # Loading in the training thread leaves the other CPUs to nobody else.
        if not self.ahead and len({work.threads for work in self.loading}) == 1:
            return self
        load = self.cpu_ms / self.cpus / max(self.batch_ms(), self.step_ms, 1e-9)
        # The times were measured on CPUs that were as busy as they were then.
        dearer = _dearer(load, crowding) / _dearer(self.busy, crowding)
        if dearer <= 1.0:
            return self
        return replace(
            self,
            loading=tuple(
                replace(work, cpu_ms=work.cpu_ms * dearer, lock_ms=work.lock_ms * dearer) for work in self.loading
            ),
            step_ms=self.step_ms + (dearer - 1) * min(self.step_ms, self.step_cpu_ms),
            step_cpu_ms=self.step_cpu_ms * dearer,
        )


def _dearer(load: float, crowding: float) -> float:
    """CPU time for the same work where so much of the CPUs is busy."""
    return 1 + (crowding - 1) * min(1.0, max(0.0, load - BUSY_SHARE) / (1 - BUSY_SHARE))


def soft_max(evenness: float, loads_ms: Sequence[float]) -> float:
    largest = max(loads_ms, default=0.0)
    if largest <= 0:
        return 0.0
    return float(largest * sum((max(0.0, load) / largest) ** evenness for load in loads_ms) ** (1 / evenness))
