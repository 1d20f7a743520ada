"""The door for Lightning users, under both of its import names.

from feedwatch.lightning import FeedWatch
trainer = Trainer(callbacks=[FeedWatch()])
"""

try:
    import torch as _torch  # noqa: F401 -- asked here, so that a missing extra is named at the door

    from feedwatch.hooks.lightning.callback import FeedWatch
except ImportError as error:
    if (error.name or "").split(".")[0] not in ("torch", "lightning", "pytorch_lightning"):
        raise
    raise ImportError(
        'feedwatch.lightning needs PyTorch and Lightning: pip install "feedwatch[lightning]"', name=error.name
    ) from error

__all__ = ["FeedWatch"]
