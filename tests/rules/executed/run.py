"""`python -m tests.rules.executed.run fw101 fw102`: each pair, bad and good in turns, as one JSON line per pair.

Noise is met by repeating: the figures are medians over the rounds.
"""

import json
import statistics
import sys
from importlib import import_module

ROUNDS = 2


def measure(code):
    pair = import_module(f"tests.rules.executed.{code}")
    bads, goods = [], []
    for _ in range(ROUNDS):
        bads.append(pair.bad())
        finding = bads[-1].finding(code.upper())
        if finding is None:
            break
        goods.append(pair.good(finding))
    return summary(code.upper(), pair, bads, goods)


def summary(code, pair, bads, goods):
    fired = [bad.finding(code) for bad in bads]
    answer = {
        "code": code,
        "fired_on_bad": all(finding is not None for finding in fired),
        "bad_findings": [[one.code for one in bad.report.findings] for bad in bads],
        "good_findings": [[one.code for one in good.report.findings] for good in goods],
        "bad_bound": [bad.report.verdict.bound.value for bad in bads],
    }
    gains = [finding.gain for finding in fired if finding is not None and finding.gain is not None]
    if gains and goods:
        by_run = getattr(pair, "RUN_GAIN", False)
        before = statistics.median(bad.loop_s if by_run else 1 / bad.steps_per_s for bad in bads)
        after = statistics.median(good.loop_s if by_run else 1 / good.steps_per_s for good in goods)
        answer |= {
            "measured": before / after,
            "low": statistics.median(gain.low for gain in gains),
            "high": statistics.median(gain.high for gain in gains),
            "because": gains[-1].because,
        }
    return answer


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        print("PAIR " + json.dumps(measure(wanted)), flush=True)
