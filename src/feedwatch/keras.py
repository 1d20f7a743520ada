"""The door for Keras users.

from feedwatch.keras import FeedWatch        # model.fit(..., callbacks=[FeedWatch("runs/a")])
from feedwatch.keras import watch            # for batch in watch(dataset, "runs/a"): a loop of your own
"""

try:
    import keras as _keras  # noqa: F401 -- absent is worth a sentence, broken is the user's own error
except ModuleNotFoundError as error:
    if error.name != "keras":
        raise
    raise ImportError('feedwatch.keras needs Keras 3: pip install "feedwatch[keras]"') from error

from feedwatch.hooks.keras.callback import FeedWatch
from feedwatch.hooks.keras.loop import watch

__all__ = ["FeedWatch", "watch"]
