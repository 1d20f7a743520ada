"""Hugging Face's real Trainer on two processes of this machine's CPUs, as torchrun starts them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from feedwatch.report.load import load_run

ROOT = Path(__file__).parents[3]
SLOW_RANK = 1  # train_ranks.py
pytestmark = [pytest.mark.loaders, pytest.mark.slow]


def torchrun(directory):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {
        **os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "FEEDWATCH_STRICT": "1", "OMP_NUM_THREADS": "1"
    }  # fmt: skip
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        environment.pop(name, None)
    command = [*launcher, str(Path(__file__).with_name("train_ranks.py")), str(directory)]
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=200, check=False
    )


def test_two_ranks_train_the_same_and_rank_0_tells_of_the_other(tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    done = torchrun(tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]

    ranks = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(2)]
    assert [rank["same"] for rank in ranks] == [True, True]
    assert [rank["left"] for rank in ranks] == [[], []]
    assert ranks[0]["weights"] == ranks[1]["weights"]

    home = tmp_path / "runs" / "feedwatch"
    files = {path.name: json.loads(path.read_text()) for path in sorted(home.glob("report*.json"))}
    assert list(files) == ["report.json", "report.rank00001.json"]
    assert [file["run"]["rank"] for file in files.values()] == [0, 1]
    assert {file["run"]["world_size"] for file in files.values()} == {2}
    assert {file["status"] for file in files.values()} == {"finished"}
    assert {file["steps"]["batches"] for file in files.values()} == {24}
    assert len(list(home.glob("events.out.*"))) == 1

    merged = load_run(tmp_path / "runs")
    assert merged.ranks.count == 2
    assert merged.ranks.slowest.rank == SLOW_RANK
    # 4 items of 4 ms: rank 1 waits for its data, and rank 0 for rank 1, which looks like compute there.
    assert merged.ranks.slowest.input_wait_ms > 4 * 4
    assert files["report.json"]["verdict"]["stall_ratio"] < 0.2
    after = {finding.code: finding.fix.after for finding in merged.findings}
    assert f"== {SLOW_RANK}:" in after["FW501"]
    assert after["FW101"].startswith("arguments = TrainingArguments(..., dataloader_num_workers=")
    assert "train_ranks.py:" in after["FW101"]
