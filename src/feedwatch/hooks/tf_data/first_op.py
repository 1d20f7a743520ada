"""Whether a thread of ours may run ops of TensorFlow.

A thread's first op draws a random number, for which TensorFlow opens /dev/urandom. Where the process has no file
descriptor left it throws through code that was built without exceptions, and the process dies of a segmentation fault.
Training has run its first op long before; the sink's thread runs its own late, and must not be the one that dies.
"""

import os
import threading
from typing import Final

import tensorflow as tf

# Between our look and TensorFlow's own open other threads may open files, too.
SPARE_DESCRIPTORS: Final = 8

_of_thread = threading.local()


def may_run_ops() -> bool:
    """False while descriptors are short and this thread has run none yet: ask again later."""
    if getattr(_of_thread, "has_run_one", False):
        return True
    if not _descriptors_are_left():
        return False
    with tf.init_scope(), tf.device("/CPU:0"):
        tf.raw_ops.NoOp()
    _of_thread.has_run_one = True
    return True


def _descriptors_are_left() -> bool:
    opened: list[int] = []
    try:
        opened.extend(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(SPARE_DESCRIPTORS))
    except OSError:
        return False
    finally:
        for each in opened:
            os.close(each)
    return True
