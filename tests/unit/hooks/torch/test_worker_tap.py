import ast
import subprocess
import sys

import torch

from feedwatch.hooks.torch.worker_tap import fingerprint


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
