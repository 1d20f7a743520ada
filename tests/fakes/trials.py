"""A trial as a run would have made it."""

from feedwatch.model.trial import Ended, Outcome, Role, Span, TrialRow, TrialSection
from feedwatch.model.verdict import Basis, Finding, Fix, Gain


def row(name="num_workers=2", outcome=Outcome.FASTER, low=1.9, high=2.1, **more):
    speedup = None if low is None else Span(low, high)
    told = {"codes": ("FW101",), "advised": True, "step_ms": 10.0, "blocks": 3, "seconds": 4.5, **more}
    return TrialRow(name, Role.VARIANT, outcome, {"num_workers": 2}, speedup=speedup, **told)


AS_IS = TrialRow("as it is", Role.AS_IS, Outcome.SAME, step_ms=20.0, wait_share=0.5, blocks=4, seconds=6.0)
CEILING = TrialRow("one cached batch", Role.CEILING, Outcome.FASTER, step_ms=9.0, speedup=Span(2.1, 2.3), blocks=2)


def section(*rows, **more):
    told = {"ceiling": Span(2.1, 2.3), "drift": 1.0, **more}
    return TrialSection(Ended.DECIDED, 30.0, (AS_IS, CEILING, *rows), **told)


def finding(code="FW101", low=1.5, high=1.8):
    gain = None if low is None else Gain(low, high, Basis.PREDICTED, "the model says so")
    return Finding(code, "name", f"Do {code}", "because", {}, Fix("a", f"after {code}"), gain)
