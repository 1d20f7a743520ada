"""One training with a known cause."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

# Numbers of the finding (num_workers advised, …), so that the fix is the one that was advised.
Advised = Mapping[str, float]


@dataclass(frozen=True)
class ZooCase:
    name: str
    framework: Literal["keras", "lightning"]
    expects: str | None  # code of the first finding; None: healthy, no finding at all
    cause: str
    build: Callable[[Advised | None], Any]  # None: as it is; else with the fix
    # A step's gain shows in samples per second; what happens once per epoch shows in the run's wall time only.
    gain_of: Literal["step", "run"] = "step"


class Registry:
    """Cases of one framework, in the order in which they are written."""

    def __init__(self, framework: Literal["keras", "lightning"]) -> None:
        self._framework = framework
        self.cases: list[ZooCase] = []

    def case(self, expects: str | None, cause: str, *, gain_of: Literal["step", "run"] = "step") -> Callable[..., Any]:
        def enter(build: Callable[[Advised | None], Any]) -> Callable[[Advised | None], Any]:
            name = f"{self._framework}-{build.__name__.replace('_', '-')}"
            self.cases.append(ZooCase(name, self._framework, expects, cause, build, gain_of))
            return build

        return enter
