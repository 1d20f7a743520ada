"""A whole report, made by the same rooms that make a real one."""

from feedwatch.advise.case import Case
from feedwatch.advise.engine import advise
from feedwatch.advise.supply import supply
from feedwatch.diagnose.judge import judge
from feedwatch.measure.run_so_far import RunSoFar
from feedwatch.measure.window import Piece
from feedwatch.model.report import Report, Status
from feedwatch.model.steps import EpochGap
from feedwatch.report.build import Ingredients, OwnCost, build
from tests.fakes.values import facts, record, run_facts

LITTLE = OwnCost(9000.0, 1000, 0)


def course(steps=40, slices=4, gap_ns=5_000_000, **phases):
    made = RunSoFar()
    for index in range(slices):
        records = [record(index * steps + step + 1, **phases) for step in range(steps)]
        made.add(Piece(records, [EpochGap(index * steps, gap_ns)], 100.0 + index, index * 10**9, 0))
    return made


def report(status=Status.FINISHED, known=None, rank=0, world_size=1, started_s=100.0, own=LITTLE, **phases) -> Report:
    measured = course(**phases)
    seen = known or facts(run=run_facts(rank=rank, world_size=world_size, started_s=started_s))
    run = measured.run()
    account = measured.account()
    verdict = judge(run, seen, account)
    case = Case(verdict, run, seen, measured.startup(12.0), measured.boundaries(), measured.counts, account)
    return build(Ingredients(status, case, advise(case), supply(case), measured.history.series(), own, now_s=200.0))
