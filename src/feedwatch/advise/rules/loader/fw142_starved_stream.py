"""A streaming library does not read far enough ahead."""

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import NOTHING_BUSY, SWINGING_GPU
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, number

PAGE = """
## What it sees
litdata, mosaic streaming or webdataset as the source of a run that waits for its input.

## Why it costs
These libraries fetch shards from elsewhere and keep some of them ready. When what is ready runs out, training waits
for the network. A shard is read by one worker, so fewer shards than workers leave workers idle.

## Fix
Raise the library's own read-ahead (`max_pre_download`, `predownload`), let its local cache be large enough for an
epoch, and write at least as many shards as there are workers on all ranks.

## When to leave it
When the network carries no more: then smaller data help, not more requests.

## References
- https://github.com/Lightning-AI/litdata
- https://docs.mosaicml.com/projects/streaming/
- https://github.com/webdataset/webdataset
"""


@rule(
    PAGE,
    knob="stream",
    relieves=Bound.UNKNOWN,
    symptoms=(
        NOTHING_BUSY,
        SWINGING_GPU,
    ),
    edit_lines=1,
    needs=("PipelineFacts.stream",),
)
def RULE(case: Case) -> Found | None:
    stream, account = case.facts.pipeline.stream, case.account
    if stream is None or account is None or (account.stall_ratio or 0.0) < THRESHOLDS.bounds_share:
        return None
    loader = case.facts.pipeline.loader
    workers = stream.workers if loader is None else loader.num_workers
    advice = _advice(stream.library, stream.predownload, stream.shards, workers)
    wait_ms = account.stalled_ms or 0.0
    known = [
        None if workers is None else count(workers, "worker"),
        None if stream.predownload is None else f"reading {number(stream.predownload)} ahead",
        None if stream.shards is None else count(stream.shards, "shard"),
    ]
    settings = ", ".join(each for each in known if each is not None) or "its settings cannot be seen from here"
    return Found(
        title=f"Let {stream.library} read further ahead",
        says=(f"Training waits {ms(wait_ms)} of {ms(account.batch_ms)} per batch for {stream.library} ({settings})."),
        numbers={"wait_ms": wait_ms, "batch_ms": account.batch_ms},
        before=f"# {stream.library} as it is set now",
        after=advice,
        alters=(Alters.CODE,),
    )


def _advice(library: str, ahead: int | None, shards: int | None, workers: int | None) -> str:
    further = 4 * (ahead or 2)
    if library == "litdata":
        return f"dataset = StreamingDataset(..., max_pre_download={further})"
    if library == "mosaic":
        return f"dataset = StreamingDataset(..., predownload={further})  # and enough local disk for cache_limit"
    if library == "webdataset" and shards is not None and shards < (workers or 1):
        return f"# {shards} shards feed at most {shards} workers: write smaller shards\nurls = sorted(urls)"
    return "# more workers, or a larger read-ahead, of the library that streams the data"
