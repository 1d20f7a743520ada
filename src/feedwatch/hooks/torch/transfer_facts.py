"""Who moves a batch to the device: the framework's own hook, or one that the user overrode."""

import inspect
from typing import Any

HOOK = "transfer_batch_to_device"


def custom_transfer(owners: list[Any]) -> tuple[str | None, bool | None]:
    """(name of an overridden transfer hook, whether it copies without blocking; None where that cannot be read)."""
    for owner in owners:
        method = getattr(type(owner), HOOK, None)
        if method is None or not _overridden(method):
            continue
        try:
            source = inspect.getsource(method)
        except (OSError, TypeError):
            return f"{type(owner).__name__}.{HOOK}", None
        # `super().transfer_batch_to_device` is the framework's own, which never blocks.
        plain = "non_blocking=True" in source or f"super().{HOOK}" in source
        return f"{type(owner).__name__}.{HOOK}", plain
    return None, True


def _overridden(method: Any) -> bool:
    return not str(getattr(method, "__module__", "")).startswith(("lightning.", "pytorch_lightning."))
