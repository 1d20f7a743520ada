"""`FEEDWATCH=1 python train.py`: both Lightning packages ask this for callbacks, whenever a Trainer is made."""

from typing import Any

from feedwatch.settings import switched_on


def callbacks() -> list[Any]:
    if not switched_on():
        return []
    from feedwatch.hooks.lightning.callback import FeedWatch

    return [FeedWatch()]
