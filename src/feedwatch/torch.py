"""The door for a PyTorch loop of your own.

from feedwatch.torch import FeedWatch
watch = FeedWatch("runs/a")
for batch in watch(loader): ...
"""

try:
    import torch as _torch  # noqa: F401 -- absent is worth a sentence, broken is the user's own error
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError('feedwatch.torch needs PyTorch: pip install "feedwatch[torch]"', name="torch") from error

from feedwatch.hooks.torch.loop import FeedWatch

__all__ = ["FeedWatch"]
