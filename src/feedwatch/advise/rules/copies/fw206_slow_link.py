"""FW206: the link to the device carries far less than it should."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.copies import CopyLook, exposed_copies, kind_share
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.model.facts import DeviceFacts
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent, rate

# Pinned copies reach 80-90 % of the link's usable bandwidth. When they reach half of it, something is broken.
FAR_BELOW: Final = 0.5
MOST_BYTES: Final = 0.5
# A healthy link reaches this much of its figure.
USUAL_SHARE: Final = 0.8
# Copies also have a fixed price, which no link makes smaller.
LEAST_REMOVED: Final = 0.6

SHELL: Final = """# shell: nvidia-smi topo -m
# shell: nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv -l 1
# Compare while training runs: an idle device lowers its link. Then check slot, riser, ACS, NUMA node."""

PAGE: Final = """
## What it sees
Large pinned copies at less than half of what the link's width and generation could carry.

## Why it costs
A card in a slot with fewer lanes, a riser of an older generation, traffic that is sent through another CPU socket, or a
power state that lowers the link: the copies take that much longer.

## Fix
Compare the link's width and generation under load with what card and slot can do (`nvidia-smi`), move the card or fix
the BIOS setting, bind the process to the CPU socket the card hangs on, and turn ACS off where peers talk to each other.

## When to leave it
In virtual machines where the slot is not yours to choose: then copy less (FW204, FW207).

## References
- https://docs.nvidia.com/deploy/nvidia-smi/index.html
"""


@rule(
    PAGE,
    knob="link",
    relieves=Bound.TRANSFER,
    symptoms=(VISIBLE_COPIES,),
    edit_lines=30,
    needs=("DeviceFacts.max_link_gb_per_s", "Facts.transfers"),
)
def RULE(case: Case) -> Found | None:
    look, device = exposed_copies(case), case.facts.device
    if look is None or look.device is None or device is None or device.max_link_gb_per_s is None:
        return None
    # Pageable copies are slow for another reason, and small ones never reach the link's speed.
    from_pinned, measured, best = kind_share(look, "pinned"), look.device.large.gb_per_s, device.max_link_gb_per_s
    if from_pinned is None or from_pinned < MOST_BYTES or measured is None or measured >= FAR_BELOW * best:
        return None
    most_ms = look.exposed_ms * (1 - measured / (USUAL_SHARE * best))
    because = f"at the usual {percent(USUAL_SHARE)} of the link's speed the copies take {ms(most_ms)} less per batch"
    return Found(
        title=f"Find out why the link runs at {rate(measured)} instead of {rate(best)}",
        says=(
            f"Pinned copies run at {rate(measured)}; the slot and the device together could carry "
            f"{rate(best)}{_why(device)}. Visible copies take {ms(look.exposed_ms)} of the {ms(look.batch_ms)} per "
            "batch."
        ),
        numbers=_numbers(look, device, measured),
        before="# shell: nvidia-smi -q -d PERFORMANCE,CLOCK",
        after=SHELL,
        gain=removed(look.account, most_ms, LEAST_REMOVED * most_ms, because),
        alters=(Alters.CODE,),
    )


def _why(device: DeviceFacts) -> str:
    narrow = None not in (device.pcie_width, device.pcie_max_width) and device.pcie_width != device.pcie_max_width
    old = (
        None not in (device.pcie_generation, device.pcie_max_generation)
        and device.pcie_generation != device.pcie_max_generation
    )
    now = f"generation {device.pcie_generation} with {device.pcie_width} lanes"
    best = f"generation {device.pcie_max_generation} with {device.pcie_max_width}"
    return f"; the link runs at {now} instead of {best}" if narrow or old else ""


def _numbers(look: CopyLook, device: DeviceFacts, measured: float) -> dict[str, float]:
    numbers = {
        "gb_per_s": measured,
        "max_link_gb_per_s": device.max_link_gb_per_s or 0.0,
        "exposed_ms": look.exposed_ms,
        "batch_ms": look.batch_ms,
    }
    if device.link_gb_per_s is not None:
        numbers["link_gb_per_s"] = device.link_gb_per_s
    return numbers
