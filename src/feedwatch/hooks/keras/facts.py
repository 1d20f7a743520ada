"""What kind of run this is (versions, device, compile options), and what one batch looks like."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import keras

from feedwatch.model.facts import BatchFacts, RunFacts

# A batch nested deeper than this is not a batch.
MAX_NESTING: Final = 8


def run_facts(model: Any, steps_per_execution: int, others: Sequence[Any]) -> RunFacts:
    backend = keras.backend.backend()
    kind, name = _device(backend)
    rank, world_size = _workers(backend, model)
    return RunFacts(
        framework="keras",
        version=keras.__version__,
        backend=backend,
        device=kind if name is None else f"{kind}:0 ({name})",
        device_kind=kind,
        device_name=name,
        rank=rank,
        world_size=world_size,
        run_eagerly=_flag(model, "run_eagerly"),
        steps_per_execution=steps_per_execution,
        precision=_precision(model),
        other_profiler=_other_profiler(others),
        synchronises=_synchronises(backend, others),
    )


def first_step(model: Any, seen_before: int) -> int:
    """Where Keras' own step axis stands: the optimizer's count, else the batches that this callback has seen."""
    optimizer = getattr(model, "optimizer", None)
    iterations = getattr(optimizer, "iterations", None)
    if iterations is None:
        return seen_before
    try:
        count = int(keras.ops.convert_to_numpy(iterations))
    except Exception:
        return seen_before
    # With gradient accumulation the optimizer counts updates; our axis counts batches.
    return count * int(getattr(optimizer, "gradient_accumulation_steps", None) or 1)


def _device(backend: str) -> tuple[str, str | None]:
    if backend == "tensorflow":
        return _tensorflow_device()
    if backend == "jax":
        return _jax_device()
    return _torch_device()


def _tensorflow_device() -> tuple[str, str | None]:
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return "cpu", None
    try:
        name = tf.config.experimental.get_device_details(gpus[0]).get("device_name")
    except Exception:
        name = None
    return ("rocm" if tf.test.is_built_with_rocm() else "cuda"), name or "GPU"


def _jax_device() -> tuple[str, str | None]:
    import jax

    device = jax.devices()[0]
    if device.platform == "cpu":
        return "cpu", None
    return {"gpu": "cuda"}.get(device.platform, device.platform), str(device.device_kind)


def _torch_device() -> tuple[str, str | None]:
    import torch

    if torch.cuda.is_available():
        return ("rocm" if torch.version.hip else "cuda"), torch.cuda.get_device_name()
    if torch.backends.mps.is_available():
        return "mps", "Apple GPU"
    return "cpu", None


def _workers(backend: str, model: Any) -> tuple[int, int]:
    """tf.distribute's workers (TF_CONFIG), or JAX' processes. Replicas inside one process are not ranks."""
    if backend == "tensorflow":
        resolver = getattr(getattr(model, "distribute_strategy", None), "cluster_resolver", None)
        try:
            workers = len(resolver.cluster_spec().as_dict().get("worker", ())) if resolver else 1
            return (int(resolver.task_id or 0), workers) if resolver and workers > 1 else (0, 1)
        except Exception:
            return 0, 1
    if backend == "jax" and "jax" in sys.modules:
        return int(sys.modules["jax"].process_index()), int(sys.modules["jax"].process_count())
    return 0, 1


def _flag(model: Any, name: str) -> bool | None:
    value = getattr(model, name, None)
    return value if isinstance(value, bool) else None


def _precision(model: Any) -> str | None:
    policy = getattr(getattr(model, "dtype_policy", None), "name", None)
    return policy if isinstance(policy, str) else None


def _other_profiler(others: Sequence[Any]) -> str | None:
    """A TensorBoard callback that will trace: we must not take the profiler from it."""
    for callback in others:
        if getattr(callback, "_should_trace", False):
            return f"{type(callback).__name__}(profile_batch=...)"
    return None


def _synchronises(backend: str, others: Sequence[Any]) -> str | None:
    """On torch and JAX one callback that is not async_safe makes every step wait for its logs."""
    if backend == "tensorflow":
        return None
    for callback in others:
        if getattr(callback, "async_safe", False):
            continue
        plain = keras.callbacks.Callback
        hooks = ("on_batch_end", "on_train_batch_end")
        if any(getattr(type(callback), hook) is not getattr(plain, hook) for hook in hooks):
            return type(callback).__name__
    return None


# -- one batch -----------------------------------------------------------------------------------


def leading_size(batch: Any) -> int | None:
    """Samples in a batch: the first dimension of its first array, from the shape alone."""
    try:
        size = _first(batch, depth=0).shape[0]
        return None if size is None else int(size)
    except Exception:  # a batch may be anything: an unknown size is no failure
        return None


def _first(value: Any, depth: int) -> Any:
    if depth > MAX_NESTING:
        return None
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            found = _first(part, depth + 1)
            if found is not None:
                return found
        return None
    return value


def batch_facts(batch: Any, batch_size: int | None = None) -> BatchFacts | None:
    """From shapes and dtypes: no value is read. `batch`: arrays, tensors or tensor specs, nested. None where a shape is
    unknown.
    """
    dtypes: dict[str, int] = {}
    tensors = 0
    for part in _leaves(batch, 0):
        size = _bytes(part, batch_size)
        if size is None:
            return None
        name = str(getattr(part.dtype, "name", part.dtype)).removeprefix("torch.")
        dtypes[name] = dtypes.get(name, 0) + size
        tensors += 1
    return BatchFacts(sum(dtypes.values()), tensors, dtypes) if tensors else None


def _leaves(value: Any, depth: int) -> Iterator[Any]:
    if depth > MAX_NESTING or value is None:
        return
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _leaves(part, depth + 1)
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        yield value


def _bytes(part: Any, batch_size: int | None) -> int | None:
    each = getattr(part.dtype, "itemsize", None) or getattr(part.dtype, "size", None)
    if not isinstance(each, int):
        return None
    total = each
    try:
        for index, dimension in enumerate(part.shape):
            known = batch_size if dimension is None and index == 0 else dimension
            if known is None:
                return None
            total *= int(known)
    except (TypeError, ValueError):  # a shape of unknown rank
        return None
    return total
