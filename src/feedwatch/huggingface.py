"""The door for Hugging Face's Trainer.

from feedwatch.huggingface import FeedWatch
trainer = Trainer(..., callbacks=[FeedWatch()])
"""

try:
    import torch as _torch  # noqa: F401 -- asked here, so that a missing extra is named at the door

    from feedwatch.hooks.huggingface.callback import FeedWatch
except ImportError as error:
    if (error.name or "").split(".")[0] not in ("torch", "transformers", "accelerate"):
        raise
    raise ImportError(
        'feedwatch.huggingface needs PyTorch and transformers: pip install "feedwatch[huggingface]"', name=error.name
    ) from error

__all__ = ["FeedWatch"]
