"""Cases for FW311."""

from tests.rules.build import EpochBoundaries, case, keras_run, torch_run, window

# Five epochs of two seconds of training each.
MANY = EpochBoundaries(count=5, median_ms=20.0, share=0.01, loader_start_ms=5.0, first_fetch_ms=15.0)

FIRES = {
    "as long as training": case(window(50, 0.1), boundaries=MANY, validation_ms=2000.0),
    "several times in an epoch": case(
        window(50, 0.1), boundaries=EpochBoundaries(), validation_ms=5000.0, of=torch_run(validations_per_epoch=5.0)
    ),
    "Keras": case(window(50, 0.1), boundaries=MANY, validation_ms=1000.0, of=keras_run()),
}
SILENT = {
    "a small part": case(window(50, 0.1), boundaries=MANY, validation_ms=50.0),
    "one epoch": case(window(50, 0.1), boundaries=EpochBoundaries(), validation_ms=5000.0),
    "a loop of one's own": case(
        window(50, 0.1), boundaries=MANY, validation_ms=2000.0, of=torch_run(framework="torch")
    ),
}
UNKNOWN = {"no steps": case(None, boundaries=MANY)}
