"""`python -m tests.rules.executed.run fw101 fw102`: each pair, bad and good in turns, as one JSON line per pair.

Noise is met by repeating: three rounds, medians, and what the rounds differ by among themselves beside the gain.
"""

import json
import statistics
import sys
from importlib import import_module

ROUNDS = 3


def measure(code):
    pair = import_module(f"tests.rules.executed.{code}")
    bads, goods = [], []
    for _ in range(ROUNDS):
        bads.append(pair.bad())
        finding = bads[-1].finding(code.upper())
        if finding is not None:
            goods.append(pair.good(finding))
    return summary(code.upper(), getattr(pair, "RUN_GAIN", False), bads, goods)


def summary(code, by_run, bads, goods):
    fired = [one for bad in bads if (one := bad.finding(code)) is not None]
    answer = {
        "code": code,
        "fired_on_bad": len(fired) / len(bads),
        "fired_on_good": sum(good.finding(code) is not None for good in goods) / max(1, len(goods)),
        "bad_findings": [[one.code for one in bad.report.findings] for bad in bads],
        "inside": False,
    }
    gains = [finding.gain for finding in fired if finding.gain is not None]
    if not gains or not goods:
        return answer
    before = [cost(bad, by_run) for bad in bads]
    after = [cost(good, by_run) for good in goods]
    measured = statistics.median(before) / statistics.median(after)
    low, high = statistics.median(gain.low for gain in gains), statistics.median(gain.high for gain in gains)
    # Half of the larger spread: the medians themselves are known no better than that.
    noise = max(max(costs) / min(costs) - 1 for costs in (before, after)) / 2
    inside = low / (1 + noise) <= measured <= high * (1 + noise)
    return {
        **answer,
        "measured": measured,
        "low": low,
        "high": high,
        "noise": noise,
        "inside": inside,
        "because": gains[-1].because,
    }


def cost(outcome, by_run):
    return outcome.loop_s if by_run else 1 / outcome.steps_per_s


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        print("PAIR " + json.dumps(measure(wanted)), flush=True)
