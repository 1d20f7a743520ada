"""Cases for FW136."""

from feedwatch.model.stream import StreamFacts
from tests.rules.build import case, keras_run, stage, tf_data, window

FIRES = {
    "an iterator that cannot be looked into": case(
        window(100, 60), opaque="Reader: no attribute tells", of=keras_run()
    ),
    "tf.data service": case(window(100, 60), tf=tf_data(stage("DataService"), service="dynamic")),
}
SILENT = {
    "a library that loads by itself": case(
        window(100, 60), stream=StreamFacts("ray"), kind="iterable", opaque="Ray Data"
    ),
    "healthy": case(window(100, 0.5), opaque="Reader: no attribute tells", of=keras_run()),
    "it can be seen": case(window(100, 60), tf=tf_data(stage("Map", 60.0), stage("Prefetch", 0.1))),
}
UNKNOWN = {
    "nobody looked": case(window(100, 60), of=keras_run()),
    "no steps": case(None, opaque="Reader: no attribute tells", of=keras_run()),
}
