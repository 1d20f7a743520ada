"""The end of an epoch on tf.data: the iterator that has ended waits for tf.data's tuner to wake up.

The tuner looks at the pipeline after 10 ms, then sleeps for 20, 40 and so on, a minute at most. The end of an iterator
should wake it. Often it does not (TensorFlow 2.21, nine pipelines: 15 to 70 % of all ends, the more the busier the
machine), and training stands still until the tuner wakes by itself: at worst as long as the epoch lasted, and not at
all where the tuner was about to wake anyway. Measured pauses were 5 to 60 ms longer than this says.
"""

from typing import Final

FIRST_MS: Final = 10.0
LONGEST_MS: Final = 60_000.0


def rest_of_sleep_ms(lasted_ms: float) -> float:
    """How long the tuner still sleeps when an epoch of this length ends."""
    sleep_ms = wakes_ms = FIRST_MS
    while wakes_ms < lasted_ms:
        if sleep_ms >= LONGEST_MS:
            return (wakes_ms - lasted_ms) % LONGEST_MS
        sleep_ms = min(2 * sleep_ms, LONGEST_MS)
        wakes_ms += sleep_ms
    return wakes_ms - lasted_ms


def usual_rest_of_sleep_ms(lasted_ms: float, unsure: float) -> float:
    """The same for an epoch whose length is known within a share of it."""
    steps = range(-3, 4)
    return sum(rest_of_sleep_ms(lasted_ms * (1 + unsure * step / 3)) for step in steps) / len(steps)
