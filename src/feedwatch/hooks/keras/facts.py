"""What kind of run this is (versions, device, compile options), and what one batch looks like."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import keras

from feedwatch.model.facts import BatchFacts, RunFacts, has_tensor_cores
from feedwatch.probe.device_memory import DeviceMemory

# A batch nested deeper than this is not a batch.
MAX_NESTING: Final = 8


class _Device(NamedTuple):
    """The device that the framework says it trains on."""

    kind: str
    number: int = 0
    name: str | None = None
    id: str | None = None  # as NVML knows it
    capability: tuple[int, int] | None = None
    tf32: bool | None = None

    @property
    def tensor_cores(self) -> bool | None:
        return None if self.name is None or self.capability is None else has_tensor_cores(self.name, self.capability)

    @property
    def shown(self) -> str:
        return self.kind if self.name is None else f"{self.kind}:{self.number} ({self.name})"


def run_facts(model: Any, steps_per_execution: int, others: Sequence[Any], *, asynchronous: bool = False) -> RunFacts:
    """`asynchronous`: Keras says that it runs the end hooks of steps on another thread, so nothing waits for them."""
    backend = keras.backend.backend()
    device = _device(backend)
    rank, world_size = _workers(backend, model)
    return RunFacts(
        framework="keras",
        version=keras.__version__,
        backend=backend,
        device=device.shown,
        device_kind=device.kind,
        device_name=device.name,
        device_id=device.id,
        tensor_cores=device.tensor_cores,
        capability=device.capability,
        tf32=device.tf32,
        rank=rank,
        world_size=world_size,
        run_eagerly=_flag(model, "run_eagerly"),
        steps_per_execution=steps_per_execution,
        precision=_precision(model),
        other_profiler=_other_profiler(others),
        synchronises=None if asynchronous else _synchronises(backend, others),
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


def _device(backend: str) -> _Device:
    if backend == "tensorflow":
        return _tensorflow_device()
    if backend == "jax":
        return _jax_device()
    return _torch_device()


def _tensorflow_device() -> _Device:
    """Of the GPUs that TensorFlow may see, the one of the device scope around fit; the first one without a scope."""
    import tensorflow as tf

    gpus = tf.config.get_visible_devices("GPU")
    number = _scope_number(tf)
    if number is None or number >= len(gpus):
        return _Device("cpu")
    try:
        details = tf.config.experimental.get_device_details(gpus[number])
    except Exception:
        details = {}
    return _Device(
        kind="rocm" if tf.test.is_built_with_rocm() else "cuda",
        number=number,
        name=details.get("device_name") or "GPU",
        capability=details.get("compute_capability"),
        tf32=bool(tf.config.experimental.tensor_float_32_execution_enabled()),
    )


def _scope_number(tf: Any) -> int | None:
    """None: the scope names the CPU. `keras.device` opens such a scope."""
    from tensorflow.python.eager import context

    name = context.context().device_name or ""
    if not name:
        return 0
    spec = tf.DeviceSpec.from_string(name)
    return None if spec.device_type == "CPU" else int(spec.device_index or 0)


def _chosen_jax_device() -> Any:
    """`keras.device` and `jax.default_device` set the default; else the first one is used."""
    import jax

    chosen = jax.config.jax_default_device
    return chosen if hasattr(chosen, "platform") else jax.devices(chosen)[0]


def _jax_device() -> _Device:
    device = _chosen_jax_device()
    if device.platform == "cpu":
        return _Device("cpu")
    parts = str(getattr(device, "compute_capability", "")).split(".")
    capability = (int(parts[0]), int(parts[1])) if len(parts) == 2 and all(part.isdigit() for part in parts) else None
    kind = {"gpu": "cuda"}.get(device.platform, device.platform)
    number = int(getattr(device, "local_hardware_id", 0) or 0)
    return _Device(kind, number, str(device.device_kind), capability=capability, tf32=_jax_tf32())


def _jax_tf32() -> bool:
    """JAX computes float32 products in TF32 unless it is told not to."""
    import jax

    return jax.config.jax_default_matmul_precision not in ("float32", "highest")


def _torch_device() -> _Device:
    """KERAS_TORCH_DEVICE and `keras.device` are what Keras asks itself."""
    import torch
    from keras.src.backend.torch.core import get_device

    from feedwatch.hooks.torch.device import describe_device

    device = torch.device(get_device())
    found = describe_device(device)
    if found.kind == "cpu":
        return _Device("cpu")
    return _Device(found.kind, device.index or 0, found.name or found.kind, found.id, found.capability, found.tf32)


def memory_of_device() -> Callable[[], DeviceMemory | None] | None:
    """How the backend's own allocator counts the memory of the device it trains on. None: on a CPU nothing does."""
    backend = keras.backend.backend()
    device = _device(backend)
    if device.kind == "cpu":
        return None
    if backend == "torch":
        import torch
        from keras.src.backend.torch.core import get_device

        from feedwatch.hooks.torch.device import memory_of

        return memory_of(torch.device(get_device()))
    if backend == "jax":
        chosen = _chosen_jax_device()
        return lambda: jax_memory(chosen.memory_stats())
    return lambda: _tensorflow_memory(device.number)


def _tensorflow_memory(number: int) -> DeviceMemory:
    """TensorFlow takes nearly all of a GPU at the start and does not tell how much that is: NVML does."""
    import tensorflow as tf

    return DeviceMemory(int(tf.config.experimental.get_memory_info(f"GPU:{number}")["current"]))


def jax_memory(stats: Mapping[str, Any] | None) -> DeviceMemory | None:
    """JAX takes three quarters of a GPU at the start, and more than its limit it never takes."""
    if not stats or "bytes_limit" not in stats:
        return None
    limit = int(stats["bytes_limit"])
    return DeviceMemory(int(stats["bytes_in_use"]), held_bytes=limit, limit_bytes=limit, free_bytes=0)


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
    # Keras adds its own after it has decided, and they do not read what is not there.
    added = (keras.callbacks.History, keras.callbacks.ProgbarLogger)
    for callback in others:
        if getattr(callback, "async_safe", False) or type(callback) in added:
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
