"""`feedwatch run train.py`: a script is watched that does not know of us.

Each framework is reached when the script imports it, and only in this process: Keras through `Model.fit`, Lightning
through its factory of callbacks (FEEDWATCH=1), Hugging Face through its list of default callbacks. A loop of the
script's own is seen where it asks a DataLoader for an iterator.
"""

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Final

from feedwatch.guard import Guard
from feedwatch.hooks.fetching import RememberedIterable
from feedwatch.model.report import Status
from feedwatch.settings import switched_off, wished_trial

# Loops that fetch for themselves: what they iterate is theirs, and they are watched by a hook of their own, or by the
# script's own watch.
LOOPS: Final = ("lightning.pytorch.", "pytorch_lightning.", "keras.", "transformers.trainer", "feedwatch.hooks.")
BOUNDED: Final = (
    "a loop of the script's own: its steps are bounded by fetches, the time between two of them counts as compute, a"
    " loader that is iterated without gradients as validation"
)


class Everywhere:
    """`install` before the script, `close` after it."""

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._guard = Guard("feedwatch run")
        self._watch: Any = None  # of the script's own loop, once it has one
        self._looking: set[str] = set()
        self._patches: dict[str, Callable[[Any], None]] = {
            "keras": self._into_keras,
            "transformers.trainer": self._into_transformers,
            "torch.utils.data": self._into_torch,
        }

    def install(self) -> None:
        if switched_off():
            return
        os.environ["FEEDWATCH"] = "1"  # Lightning's factory asks for it, also in the ranks that it starts
        for name, patch in self._patches.items():
            if name in sys.modules:
                self._guard.run(patch, sys.modules[name])
        sys.meta_path.insert(0, self)

    def close(self, status: Status) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self._watch is not None:
            self._watch.close(status)

    # -- imports ---------------------------------------------------------------------------------

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """As the other finders would, and the module is patched when it has been executed."""
        if name not in self._patches or name in self._looking:
            return None
        self._looking.add(name)  # the question below comes here again
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking.discard(name)
        if spec is not None and spec.loader is not None:
            loader, original = spec.loader, spec.loader.exec_module

            def exec_module(module: Any) -> None:
                original(module)
                # Only now: TensorFlow looks for Keras without importing it.
                patch = self._patches.pop(name, None)
                if patch is not None:
                    self._guard.run(patch, module)

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    # -- frameworks ------------------------------------------------------------------------------

    def _into_keras(self, keras: Any) -> None:
        original = keras.Model.fit

        def fit(model: Any, *args: Any, **named: Any) -> Any:
            from feedwatch.hooks.keras.callback import FeedWatch

            given = named.get("callbacks")
            if len(args) < 6 and not isinstance(given, keras.callbacks.CallbackList):  # callbacks is its sixth argument
                listed = list(given) if isinstance(given, (list, tuple)) else [given] * (given is not None)
                if not any(isinstance(each, FeedWatch) for each in listed):
                    # First in a trial: it mutes the callbacks behind it before they begin.
                    ours = FeedWatch()
                    named["callbacks"] = [*listed, ours] if wished_trial(asked=False) is None else [ours, *listed]
            return original(model, *args, **named)

        keras.Model.fit = fit

    def _into_transformers(self, trainer: Any) -> None:
        from feedwatch.hooks.huggingface.callback import FeedWatch

        class AddedFeedWatch(FeedWatch):
            """Stays passive where the script brings its own."""

            def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                if not self.beside(FeedWatch):
                    super().on_train_begin(args, state, control, **more)

        trainer.DEFAULT_CALLBACKS.append(AddedFeedWatch)

    def _into_torch(self, data: Any) -> None:
        original = data.DataLoader.__iter__

        def start(loader: Any) -> Any:
            if not _in_a_loop_of_its_own():
                batches = self._guard.run(self._watched, loader, original)
                if batches is not None:
                    return batches
            return original(loader)

        data.DataLoader.__iter__ = start

    def _watched(self, loader: Any, original: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        import torch

        plain = RememberedIterable(loader, original)
        if not torch.is_grad_enabled():
            return plain.seen_through(iter(plain if self._watch is None else self._watch.validation(plain)))
        if self._watch is None:
            from feedwatch.hooks.torch.loop import FeedWatch

            device = "cuda" if torch.cuda.is_available() and torch.cuda.is_initialized() else "cpu"
            self._watch = FeedWatch(self._log_dir, device=device)
            self._watch.notes.append(BOUNDED)
        return plain.seen_through(iter(self._watch(plain)))


def _in_a_loop_of_its_own() -> bool:
    frame: Any = sys._getframe(2)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(LOOPS):
            return True
        frame = frame.f_back
    return False
