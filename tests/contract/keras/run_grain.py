"""One Keras fit on Grain, in a process of its own: prints what was known of the pipeline."""

import json
import sys
from dataclasses import asdict

import grain.python as grain
import keras
import numpy as np

from feedwatch.keras import FeedWatch


def train(callbacks):
    keras.utils.set_random_seed(1)
    data = grain.MapDataset.range(48).map(lambda each: (np.full(3, each / 48, np.float32), np.zeros(1, np.float32)))
    model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    reading = grain.ReadOptions(num_threads=3, prefetch_buffer_size=7)
    model.fit(data.batch(4).to_iter_dataset(reading), epochs=2, verbose=0, callbacks=callbacks)
    return [weight.tolist() for weight in model.get_weights()]


bare = train([])
watch = FeedWatch(sys.argv[1], console=False)
watched = train([watch])
facts = watch._last.run.session.facts.pipeline
told = {
    "same": bare == watched,
    "batches": watch.report.steps.batches,
    "kind": facts.kind,
    "stream": asdict(facts.stream),
}
print(json.dumps(told))
