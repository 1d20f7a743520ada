"""All rules, in the order of their codes: every module `fwNNN_…` below `advise/rules` is one."""

from importlib import import_module
from pkgutil import walk_packages
from typing import Final, NamedTuple

from feedwatch.advise import rules
from feedwatch.advise.rule import Rule


def discovered() -> tuple[Rule, ...]:
    """A module below `advise/rules` without a RULE is an error at import, so that no rule is lost unnoticed."""
    modules = (module.name for module in walk_packages(rules.__path__, f"{rules.__name__}.") if not module.ispkg)
    found: list[Rule] = [import_module(name).RULE for name in modules]
    return tuple(sorted(found, key=lambda one: one.code))


RULES: Final[tuple[Rule, ...]] = discovered()


class Retired(NamedTuple):
    name: str
    why: str  # two lines at most: what is missing, and what the reader can do


# Rules that are gone. Their codes stay here: a code is never given to another rule.
RETIRED: Final[dict[str, Retired]] = {
    "FW129": Retired(
        "ordered-parallelism",
        "tf.data tells the mean time of a stage, not how far the times of its elements lie apart: the rule could never "
        "fire.\nWhere order holds a parallel stage back, `deterministic=False` in the `map` call is still worth a try.",
    ),
}

_BY_CODE: Final = {one.code: one for one in RULES} | {one.name: one for one in RULES}


def rule(code: str) -> Rule:
    """By code in any case (fw101) or by name (loader-without-workers); KeyError when there is none."""
    text = code.strip()
    return _BY_CODE[text.upper()] if text.upper() in _BY_CODE else _BY_CODE[text.lower()]
