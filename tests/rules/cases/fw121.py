"""Cases for FW121."""

from tests.rules.build import case, keras_run, stage, tf_data, window

PARTS = (
    stage("FromTensorSlices", 0.2),
    stage("ParallelMap", 30.0, parallelism=-1, parallelism_now=4),
    stage("Batch", 8.0),
)
AHEAD = stage("Prefetch", 0.1, buffer_size=-1)

FIRES = {
    "input and compute take turns": case(window(60, 25), tf=tf_data(*PARTS, works_ahead=False)),
    "repeat behind it does not help": case(window(60, 25), tf=tf_data(*PARTS, stage("Repeat"), works_ahead=False)),
}
SILENT = {
    "it ends in prefetch": case(window(60, 25), tf=tf_data(*PARTS, AHEAD)),
    "prefetch and then repeat": case(window(60, 25), tf=tf_data(*PARTS, AHEAD, stage("Repeat"))),
    "tf.data injected one": case(window(60, 25), tf=tf_data(*PARTS, works_ahead=True)),
    "Keras appended one": case(window(60, 25), tf=tf_data(*PARTS, keras_prefetch=True)),
    "healthy": case(window(60, 0.1), tf=tf_data(*PARTS, works_ahead=False)),
}
UNKNOWN = {
    "no stage times": case(window(60, 25), tf=tf_data(stage("TFRecord"), stage("Batch"))),
    "the pipeline cannot be seen": case(window(60, 25), kind="tf.data", of=keras_run()),
    "no steps": case(None, tf=tf_data(*PARTS)),
}
