"""Profiler windows under Keras: tf.profiler, or JAX's profiler with the JAX backend."""

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from feedwatch.errors import TraceError
from feedwatch.model.transfers import TransferSample
from feedwatch.probe.profiling import ProfilerBackend, ProfilerBusyError, Recording
from feedwatch.probe.traces import read_trace

Others = Callable[[], str | None]


def keras_profiler(backend: str, callbacks: Callable[[], Iterable[Any]]) -> ProfilerBackend | None:
    """The profiler of this Keras backend. `callbacks` gives all callbacks of the fit: the user's TensorBoard may
    be about to profile, and its trace must stay whole.
    """

    def others() -> str | None:
        return tensorboard_profiling(callbacks())

    if backend == "tensorflow":
        return TensorFlowProfiler(others)
    if backend == "jax":
        return JaxProfiler(others)
    if backend == "torch":
        from feedwatch.hooks.torch.profiler import TorchProfiler

        return TorchProfiler(others)
    return None


def tensorboard_profiling(callbacks: Iterable[Any]) -> str | None:
    """A TensorBoard callback whose profile_batch is being recorded, or still to come."""
    for callback in callbacks:
        if not getattr(callback, "_should_trace", False):
            continue
        done = getattr(callback, "_global_train_batch", 0) >= getattr(callback, "_stop_batch", 0)
        if getattr(callback, "_is_tracing", False) or not done:
            return f"{type(callback).__name__}(profile_batch=…)"
    return None


class XSpaceFolder:
    """One folder per window: two sessions within a second would otherwise overwrite each other's file."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="feedwatch-", ignore_cleanup_errors=True)
        self.path = self._folder.name

    def read(self) -> TransferSample:
        try:
            found = sorted(Path(self.path).rglob("*.xplane.pb"))
            if not found:
                raise TraceError("the profiler wrote no trace")
            return read_trace(found[0])
        finally:
            self.remove()

    def remove(self) -> None:
        self._folder.cleanup()


class XSpaceBytes:
    """A trace that the profiler handed over in memory."""

    def __init__(self, serialised: bytes) -> None:
        self._serialised = serialised

    def read(self) -> TransferSample:
        folder = XSpaceFolder()
        (Path(folder.path) / "window.xplane.pb").write_bytes(self._serialised)
        return folder.read()


class TensorFlowProfiler:
    source = "xspace"

    def __init__(self, others: Others = lambda: None) -> None:
        self._others = others
        self._folder: XSpaceFolder | None = None
        self._step: Any = None

    def other_active(self) -> str | None:
        return "a TensorFlow profile session" if _tf_session() is not None else self._others()

    def rehearsal(self) -> Callable[[], None]:
        def record_nothing() -> None:
            self.start()
            self.abandon()

        return record_nothing

    def start(self) -> None:
        import tensorflow as tf

        folder = XSpaceFolder()
        options = tf.profiler.experimental.ProfilerOptions(python_tracer_level=0)
        try:
            tf.profiler.experimental.start(folder.path, options)
        except tf.errors.AlreadyExistsError as error:
            folder.remove()
            # A start that finds the session of a profiler server leaves its own dead session registered, and then
            # nobody could start another one. None was registered before, so this one is ours, and we take it away.
            if _tf_session() is not None:
                tf.profiler.experimental.stop(save=False)
            raise ProfilerBusyError("a TensorFlow profile session") from error
        except Exception:
            folder.remove()
            raise
        self._folder = folder

    def step(self, number: int) -> None:
        import tensorflow as tf

        self._end_step()
        # _r=1 makes it the root of a group: everything that the step begins carries the number of this group.
        self._step = tf.profiler.experimental.Trace("train", step_num=number, _r=1)
        self._step.__enter__()

    def stop(self) -> Recording | None:
        return self._stop(save=True)

    def abandon(self) -> None:
        folder = self._stop(save=False)
        if folder is not None:
            folder.remove()

    def _stop(self, save: bool) -> XSpaceFolder | None:
        import tensorflow as tf

        self._end_step()
        folder, self._folder = self._folder, None
        try:
            tf.profiler.experimental.stop(save=save)
        except Exception:
            if folder is not None:
                folder.remove()
            raise
        return folder

    def _end_step(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)


class JaxProfiler:
    source = "xspace"

    def __init__(self, others: Others = lambda: None) -> None:
        self._others = others
        self._folder: XSpaceFolder | None = None
        self._step: Any = None

    def other_active(self) -> str | None:
        return "a JAX profile session" if _jax_session() is not None else self._others()

    def rehearsal(self) -> Callable[[], None]:
        def record_nothing() -> None:
            self.start()
            self.abandon()

        return record_nothing

    def start(self) -> None:
        import jax

        folder = XSpaceFolder()
        try:
            jax.profiler.start_trace(folder.path, **_without_python_frames())
        except Exception:
            folder.remove()
            raise
        self._folder = folder

    def step(self, number: int) -> None:
        import jax

        self._end_step()
        self._step = jax.profiler.StepTraceAnnotation("train", step_num=number)
        self._step.__enter__()

    def stop(self) -> Recording | None:
        import jax

        self._end_step()
        folder, self._folder = self._folder, None
        try:
            serialised = _stopped_jax_session()
            if serialised is not None:
                return XSpaceBytes(serialised)
            jax.profiler.stop_trace()
        except Exception:
            if folder is not None:
                folder.remove()
            raise
        return folder

    def abandon(self) -> None:
        self.stop()  # JAX cannot stop without writing; the folder is removed with the last reference to it

    def _end_step(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)


def _tf_session() -> Any:
    """The session that Python code has open; there is no public way to ask."""
    try:
        from tensorflow.python.profiler import profiler_v2
    except ImportError:
        return None
    return getattr(profiler_v2, "_profiler", None)


def _without_python_frames() -> dict[str, Any]:
    """Every call of every Python function would be an event. JAX can leave them out since 0.7."""
    import jax

    options = getattr(jax.profiler, "ProfileOptions", None)
    if options is None:
        return {}
    chosen = options()
    chosen.python_tracer_level = 0
    return {"profiler_options": chosen}


def _stopped_jax_session() -> bytes | None:
    """`stop_trace` writes the trace twice, as JSON too, on the training thread. None: this JAX has no other way."""
    from jax._src import profiler

    state: Any = getattr(profiler, "_profile_state", None)
    session: Any = getattr(state, "profile_session", None)
    if not callable(getattr(session, "stop", None)) or not callable(getattr(state, "reset", None)):
        return None
    with state.lock:
        serialised = session.stop()
        state.reset()
    return bytes(serialised)


def _jax_session() -> Any:
    try:
        from jax._src import profiler
    except ImportError:
        return None
    return getattr(getattr(profiler, "_profile_state", None), "profile_session", None)
