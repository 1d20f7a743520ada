"""One training, in a process of its own: trains, and writes down what feedwatch said and what the clock said."""

import dataclasses
import enum
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

from benchmarks.zoo.case import Advised, ZooCase

# Tracing and first fills; feedwatch leaves out as many.
WARM_UP_STEPS = 3


def cases_of(framework: str) -> list[ZooCase]:
    if framework == "keras":
        from benchmarks.zoo.keras_cases import KERAS

        return KERAS.cases
    from benchmarks.zoo.lightning_cases import LIGHTNING

    return LIGHTNING.cases


def run(case: ZooCase, fix: Advised | None, answer: Path) -> None:
    warnings.simplefilter("ignore")  # the frameworks' own hints about workers and shuffling
    kept = _keep_last_case()
    with tempfile.TemporaryDirectory(prefix="feedwatch-zoo-") as log_dir:
        report, watch = _trained(case, fix, log_dir)
    from feedwatch.report.json import to_json

    value = {
        "report": to_json(report),
        "step_ms": _step_ms(watch.ends),
        "run_s": watch.ends[-1][-1] - watch.began_s,
        "facts": _plain(kept[-1]) if kept else None,
    }
    answer.write_text(json.dumps(value))


def _trained(case: ZooCase, fix: Advised | None, log_dir: str) -> tuple[Any, Any]:
    if case.framework == "keras":
        from benchmarks.zoo.keras_parts import one_thread, train

        one_thread()
    else:
        from benchmarks.zoo.lightning_parts import train
    return train(case.build(fix), log_dir)


def _step_ms(ends: list[list[float]]) -> float:
    """Mean time from batch end to batch end inside epochs, by the script's own clock."""
    first, *later = ends
    epochs = [first[WARM_UP_STEPS:], *later]
    inside = [(epoch[-1] - epoch[0], len(epoch) - 1) for epoch in epochs if len(epoch) > 1]
    return 1000 * sum(span_s for span_s, _ in inside) / sum(steps for _, steps in inside)


def _keep_last_case() -> list[Any]:
    """All that the rules knew, to see which fact was wrong when a finding is."""
    from feedwatch import digest

    kept: list[Any] = []
    advise = digest.advise

    def keeping(seen: Any) -> Any:
        kept[:] = [seen]
        return advise(seen)

    digest.advise = keeping
    return kept


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, enum.Enum) else value
