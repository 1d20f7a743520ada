"""All rules, in the order of their codes."""

from typing import Final

from feedwatch.advise.rule import Rule
from feedwatch.advise.rules import (
    fw101_loader_without_workers,
    fw121_missing_prefetch,
)

RULES: Final[tuple[Rule, ...]] = (
    fw101_loader_without_workers.RULE,
    fw121_missing_prefetch.RULE,
)

# Codes of rules that are gone. They stay here: a code is never given to another rule.
RETIRED: Final[frozenset[str]] = frozenset()

_BY_CODE: Final = {one.code: one for one in RULES} | {one.name: one for one in RULES}


def rule(code: str) -> Rule:
    """By code in any case (fw101) or by name (loader-without-workers); KeyError when there is none."""
    text = code.strip()
    return _BY_CODE[text.upper()] if text.upper() in _BY_CODE else _BY_CODE[text.lower()]
