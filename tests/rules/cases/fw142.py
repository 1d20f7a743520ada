"""Cases for FW142."""

from feedwatch.model.stream import StreamFacts
from tests.rules.build import case, loader, window

FIRES = {
    "litdata": case(window(100, 60), stream=StreamFacts("litdata", predownload=2), loader=loader(num_workers=4)),
    "mosaic": case(window(100, 60), stream=StreamFacts("mosaic", predownload=8), loader=loader(num_workers=4)),
    "fewer shards than workers": case(
        window(100, 60), stream=StreamFacts("webdataset", shards=2), loader=loader(num_workers=4)
    ),
    "nothing of it can be seen": case(window(100, 60), kind="iterable", opaque="Ray Data", stream=StreamFacts("ray")),
    "some other library": case(window(100, 60), stream=StreamFacts("torchdata", workers=2)),
}
SILENT = {
    "healthy": case(window(100, 0.5), stream=StreamFacts("litdata", predownload=2), loader=loader(load_ms=20.0)),
    "nothing streams": case(window(100, 60), loader=loader(num_workers=4)),
}
UNKNOWN = {
    "nobody knows what reads": case(window(100, 60)),
    "no steps": case(None, stream=StreamFacts("litdata", predownload=2)),
}
