import ast
import subprocess
import sys
import time
from itertools import pairwise

import torch

from feedwatch.hooks.torch.worker_tap import WorkerRecorder, fingerprint
from feedwatch.hooks.torch.workers import WorkerTable


def test_a_fingerprint_knows_a_batch_again_and_nothing_from_a_constant_one():
    batch = [torch.arange(32.0), torch.zeros(2)]
    assert fingerprint(batch) == fingerprint([torch.arange(32.0)]) > 0
    assert fingerprint(batch) != fingerprint([torch.arange(1.0, 33.0)])
    assert fingerprint(torch.zeros(32)) == fingerprint("text") == -1


def test_a_spawned_worker_imports_no_framework_of_the_main_process():
    """It imports this module to unpickle the loader's collate function; torch and numpy are there already."""
    code = (
        "import sys, torch, numpy, torch.utils.data; before = set(sys.modules)\n"
        "import feedwatch.hooks.torch.worker_tap\n"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('feedwatch')))\n"
        "print(len([name for name in set(sys.modules) - before if name.startswith('feedwatch')]))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert not {"lightning", "rich", "tensorboard", "psutil", "keras"} & set(ast.literal_eval(said[0]))
    assert int(said[1]) <= 8


def test_each_batch_is_written_down_with_its_turn_in_the_epoch():
    """The first batch of a worker is half made when we arrive; a new epoch has a new fetcher, also of workers that stay."""
    table = WorkerTable(2, inherited=True)
    recorder = WorkerRecorder(table, 1, iterable=False)
    epochs = [type("Fetcher", (), {"dataset": [0]})(), type("Fetcher", (), {"dataset": [0]})()]
    for fetcher, batches in zip(epochs, (2, 3), strict=True):
        for _ in range(batches):
            recorder.fetch(lambda fetcher, index: index, fetcher, [0])
    made = table.made(in_turn=True)
    assert [each.batch for each in made] == [4, 6, 2, 4, 6]
    assert all(a.begin_ns <= a.end_ns <= b.begin_ns for a, b in pairwise(made))


def test_writing_a_batch_down_takes_less_than_eight_microseconds():
    recorder = WorkerRecorder(WorkerTable(1, inherited=True), 0, iterable=False)

    def round_us():
        began_ns = time.perf_counter_ns()
        for _ in range(1000):
            recorder._write_down(began_ns, 7)
        return (time.perf_counter_ns() - began_ns) / 1e6

    assert min(round_us() for _ in range(10)) < 8
