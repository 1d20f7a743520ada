"""Everything that is put into fit's own objects, and how it is taken away again.

All of it dies with the objects that `fit` made for itself; the end hook only takes it away a little earlier. The one
exception is torch, where the model's train function is looked at, and put back by whatever ends the run.
"""

import weakref
from dataclasses import replace
from typing import Any

import keras

from feedwatch.hooks.keras.callback_times import CallbackTimes, handed_in, replaceable
from feedwatch.hooks.keras.ending import (
    observe_callbacks,
    observe_epochs,
    observe_train_function,
    unobserve,
    unobserve_callbacks,
    when_released,
)
from feedwatch.hooks.keras.install import Fit, shadow, unshadow
from feedwatch.hooks.keras.pipeline_reader import PipelineReader
from feedwatch.hooks.keras.python_source import PythonSource
from feedwatch.hooks.keras.train_function import wrap_train_function
from feedwatch.hooks.keras.watch import Watch

BETWEEN_EPOCHS = ("on_epoch_begin", "on_epoch_end")
IN_STEPS = ("on_train_batch_begin", "on_train_batch_end")

NOT_FOUND = "input wait: no iterator of this fit could be timed"


def attach(watch: Watch, fit: Fit | None, callback: Any, model: Any) -> None:
    if fit is not None:
        watch.released = when_released(fit.callback_list, watch.guarded_close)
        _see_errors(watch, fit, model)
        _time_callbacks(watch, fit, callback)
        if fit.epoch_iterator is not None:
            _time_fetches(watch, fit.epoch_iterator)
            _read_pipeline(watch, fit.epoch_iterator)
    if keras.backend.backend() == "tensorflow":
        _count_traces(watch)
    frame_id = None if fit is None else id(fit.frame)

    def fall_back() -> None:
        if watch.iterators:
            return
        if keras.backend.backend() == "tensorflow" and getattr(model, "train_function", None) is not None:
            watch.on_close.append(wrap_train_function(model, frame_id, watch.twin_of))
        else:
            watch.timeline.measured = False
            watch.session.note(NOT_FOUND)

    watch.on_first_step.append(fall_back)


def _time_fetches(watch: Watch, epoch_iterator: Any) -> None:
    shadow(epoch_iterator, watch.start_iterator)
    if keras.backend.backend() != "torch":
        observe_epochs(epoch_iterator, watch.guarded_close)
    # Weakly: after an error nobody but the traceback may hold the user's data.
    reference = weakref.ref(epoch_iterator)

    def undo() -> None:
        live = reference()
        if live is not None:
            unshadow(live)
            unobserve(live)

    watch.on_close.append(undo)


def _see_errors(watch: Watch, fit: Fit, model: Any) -> None:
    """Where nothing of Keras' own lets us see them pass: between epochs, and on torch in every step."""
    if isinstance(watch.source, PythonSource):
        watch.source.failed = watch.guarded_close
    in_steps = keras.backend.backend() == "torch"
    if in_steps and getattr(model, "train_function", None) is not None:
        watch.on_close.append(observe_train_function(model, fit.frame, watch.guarded_close))
    if handed_in(fit):
        return
    hooks = [*BETWEEN_EPOCHS, *(IN_STEPS if in_steps else ())]
    observe_callbacks(fit.callback_list, hooks, watch.guarded_close)
    reference = weakref.ref(fit.callback_list)

    def undo() -> None:
        live = reference()
        if live is not None:
            unobserve_callbacks(live, hooks)

    watch.on_close.append(undo)


def _time_callbacks(watch: Watch, fit: Fit, callback: Any) -> None:
    if not replaceable(fit):
        return
    callback_list, before = fit.callback_list, fit.callback_list.callbacks
    times = CallbackTimes(callback, before, watch.about_to_call)
    # The loop that called us walks the old list to its end; all later ones walk this one.
    callback_list.callbacks = times.members

    reference = weakref.ref(callback_list)

    def undo() -> None:
        live = reference()
        if live is not None:
            live.callbacks = before

    watch.on_drain.append(lambda: watch.session.update(callbacks=times.read(watch.timeline.calls)))
    watch.on_close.append(undo)


def _read_pipeline(watch: Watch, epoch_iterator: Any) -> None:
    session, timeline = watch.session, watch.timeline
    fetch_ms = getattr(watch.source, "fetch_ms", _unknown)
    reader = PipelineReader(epoch_iterator, keras.backend.backend(), fetch_ms, session.note)

    def take_batch_size() -> None:
        timeline.samples_per_batch = reader.samples_per_batch()
        session.update(
            run=replace(session.facts.run, batch_size=timeline.samples_per_batch),
            batch=getattr(watch.source, "batch", reader.batch)(),
        )

    def read_a_last_time() -> None:
        session.update(**(reader.read() or {}))
        reader.close()

    watch.on_iterator.append(reader.iterator)
    watch.on_first_step.append(take_batch_size)
    watch.on_drain.append(reader.look)
    watch.on_close.append(read_a_last_time)
    session.each_window("the pipeline reader", reader.read)


def _count_traces(watch: Watch) -> None:
    from feedwatch.hooks.keras.graph_fetch import traces_ns
    from feedwatch.hooks.keras.graph_source import GraphSource

    watch.retraces.traces_ns = traces_ns
    session, timeline = watch.session, watch.timeline

    def tell() -> None:
        if session.facts.run.run_eagerly is not True and session.facts.run.retraces != watch.retraces.count:
            session.update(run=replace(session.facts.run, retraces=watch.retraces.count))
        if timeline.tracing_ns is not None:
            session.tracing(timeline.tracing_ns / 1e6)
        if isinstance(watch.source, GraphSource) and session.facts.run.run_eagerly is not True:
            watch.cost.graph_ns_per_call = watch.source.graph_cost_ns(session.facts.run.steps_per_execution) or 0.0

    watch.on_drain.append(tell)


def _unknown() -> None:
    return None
