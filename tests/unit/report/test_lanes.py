"""Lanes for whoever makes the batches, where no worker tells."""

from feedwatch.model.pipeline import LoaderFacts, PipelineFacts, Stage
from feedwatch.model.timeline import Excerpt, Lane, TimelineSection
from feedwatch.report.lanes import with_loading


def excerpt(waits, *lanes):
    """`waits`: (begin, took) of each; between them the loop computes."""
    begins, tooks, phases, batches = [], [], [], []
    for number, (begin, took) in enumerate(waits, 1):
        begins += [begin, begin + took]
        tooks += [took, 1000]
        phases += [0, 2]
        batches += [number, 0]
    loop = Lane("loop", "Training loop", tuple(begins), tuple(tooks), tuple(phases), tuple(batches))
    return TimelineSection((Excerpt("last", (1, 2, 3), (0,), begins[-1] + 1000, (loop, *lanes)),))


def added(section, pipeline):
    return with_loading(section, pipeline).excerpts[0].lanes[1:]


def loader(workers):
    return PipelineFacts("dataloader", loader=LoaderFacts(workers, None, False, False, 16))


WAITS = [(0, 9000), (10_000, 9000), (20_000, 9000)]


def test_without_workers_the_wait_is_the_loading():
    (lane,) = added(excerpt(WAITS), loader(0))
    assert (lane.kind, lane.estimated) == ("loading", False)
    assert lane.begin_us == (0, 10_000, 20_000)
    assert lane.batch == (1, 2, 3)


def test_workers_speak_for_themselves():
    worker = Lane("worker", "Worker 0", (0,), (5,), batch=(1,))
    assert added(excerpt(WAITS, worker), loader(1)) == (worker,)
    assert added(excerpt(WAITS), loader(2)) == ()


def test_stages_of_tf_data_are_an_estimate_that_ends_when_the_batch_came():
    stages = (Stage("Map", "decode", 9.0, 1), Stage("Batch", "", 0.9), Stage("Prefetch", "", 0.01))
    lanes = added(excerpt(WAITS), PipelineFacts("tf.data", stages=stages))
    assert [(lane.name, lane.estimated) for lane in lanes] == [("Map decode", True), ("Batch", True)]
    decode, batch = lanes
    assert [begin + took for begin, took in zip(batch.begin_us, batch.took_us, strict=True)] == [9000, 19_000, 29_000]
    assert [begin + took for begin, took in zip(decode.begin_us, decode.took_us, strict=True)] == list(batch.begin_us)


def test_parallel_calls_share_the_work_of_a_batch():
    (lane,) = added(excerpt(WAITS), PipelineFacts("tf.data", stages=(Stage("ParallelMap", "f", 20.0, 4),)))
    assert set(lane.took_us) == {5000}


def test_a_stage_never_makes_two_batches_at_once():
    """Batches that came at once were made before, one after the other."""
    (lane,) = added(
        excerpt([(0, 10), (2000, 10), (4000, 10)]), PipelineFacts("tf.data", stages=(Stage("Map", "f", 3.0),))
    )
    ends = [begin + took for begin, took in zip(lane.begin_us, lane.took_us, strict=True)]
    assert all(end <= begin for end, begin in zip(ends, lane.begin_us[1:], strict=False))


def test_a_stage_was_not_slower_than_its_batches_came():
    """Its time is a mean of the whole run; these steps may be faster. All batches that came were made."""
    (lane,) = added(excerpt(WAITS), PipelineFacts("tf.data", stages=(Stage("Map", "f", 40.0),)))
    assert set(lane.took_us) == {10_000}
    assert [begin + 10_000 for begin in lane.begin_us] == [9000, 19_000, 29_000]


def test_what_cannot_be_seen_gets_no_lane():
    assert added(excerpt(WAITS), PipelineFacts("iterable")) == ()
    assert added(excerpt(WAITS), PipelineFacts("tf.data")) == ()
