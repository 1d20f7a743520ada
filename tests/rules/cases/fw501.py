"""Cases for FW501."""

from feedwatch.model.report import RankLine, RanksSection
from tests.rules.build import case, cuda, window


def ranks(slowest_ms, median_ms, count=4):
    line = RankLine(rank=3, stall_ratio=0.3, step_ms=60.0, input_wait_ms=slowest_ms)
    return RanksSection(count, count, 0, line, median_ms, slowest_ms, (line,))


FIRES = {"rank 3 is slow": case(window(60, 1.0), of=cuda(world_size=4), ranks=ranks(25.0, 1.0))}
SILENT = {
    "all are alike": case(window(60, 1.0), of=cuda(world_size=4), ranks=ranks(1.2, 1.0)),
    "all are slow": case(window(60, 1.0), of=cuda(world_size=4), ranks=ranks(25.0, 20.0)),
    "one rank": case(window(60, 1.0), of=cuda(), ranks=ranks(25.0, 1.0, count=1)),
}
UNKNOWN = {
    "other ranks not read": case(window(60, 1.0), of=cuda(world_size=4)),
    "waits not measured": case(window(60, 1.0), of=cuda(world_size=4), ranks=ranks(None, None)),
}
