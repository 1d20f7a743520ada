"""One way to feed the training: as it is, changed in one or more settings, or one batch again and again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from feedwatch.model.trial import Role, SettingValue


class Refused(Exception):  # noqa: N818 -- it is no error: the variant is left out, and its reason is shown
    """A variant that cannot be made or must not be tried; the text says why."""


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    role: Role = Role.VARIANT
    settings: Mapping[str, SettingValue] = field(default_factory=dict)  # what differs from the run as it is
    codes: tuple[str, ...] = ()  # the rules whose change this is
    advised: bool = False  # a finding of this run asks for exactly this
    lanes: int = 1  # workers: batches come in rounds of so many
    ahead: int = 0  # batches that each of them may have ready
    batches: int = 1  # of one step of the loop: several where one call of the train function takes several
    fill: int = 0  # batches until a cache is full: dropped once, in its first turn

    @property
    def made_ahead(self) -> int:
        """Batches that may be ready when its turn begins."""
        return self.lanes * self.ahead

    @property
    def warm_up(self) -> int:
        """Batches until its queue is as full as it will be, and one more round."""
        return self.made_ahead + self.lanes


AS_IS = Variant("as it is", Role.AS_IS)
CEILING = Variant("one cached batch", Role.CEILING)


def shown(settings: Mapping[str, SettingValue]) -> str:
    """num_workers=4, prefetch_factor=4"""
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())
