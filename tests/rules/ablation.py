"""What a rule needs to know: facts without which it is silent in every case in which it fires."""

import dataclasses
import typing
from dataclasses import MISSING, replace

from feedwatch.advise.seen_with import with_parts
from feedwatch.model.steps import EpochBoundaries, Startup
from tests.rules.build import judged
from tests.rules.fact_flow import TRACKED

# Known on every way to train, and what most rules ask first.
ALWAYS_KNOWN = {"RunFacts.device_kind", "Facts.pipeline"}


def needs_of(rule, cases):
    """A fact stands for all that it is a part of: who needs a worker's time needs a loader."""
    found = {fact for fact in forgettable() if all(rule.check(without(case, fact)) is None for case in cases)}
    return found - {larger for fact in found for larger in with_parts(fact)[1:]}


def forgettable():
    """Facts that can be unknown: those with a default."""
    classes = {**TRACKED, "Startup": Startup, "EpochBoundaries": EpochBoundaries}
    for name, kind in classes.items():
        for field in dataclasses.fields(kind):
            fact = f"{name}.{field.name}"
            if ((field.default, field.default_factory) != (MISSING, MISSING) and fact not in ALWAYS_KNOWN) or type(
                None
            ) in typing.get_args(typing.get_type_hints(kind)[field.name]):
                yield fact


def without(case, fact):
    """The case as it would be if nobody had handed over this fact."""
    facts = _forget(case.facts, fact)
    less = replace(
        case,
        facts=facts,
        startup=_forget(case.startup, fact),
        boundaries=_forget(case.boundaries, fact),
    )
    return judged(less) if case.run is not None else less


def _forget(value, fact):
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_forget(one, fact) for one in value)
    if not dataclasses.is_dataclass(value):
        return value
    owner, name = fact.split(".")
    changes = {}
    for field in dataclasses.fields(value):
        if type(value).__name__ == owner and field.name == name:
            changes[name] = unknown(field)
        else:
            changes[field.name] = _forget(getattr(value, field.name), fact)
    return replace(value, **changes)


def unknown(field):
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else None
