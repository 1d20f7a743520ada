"""Two ranks on this machine's CPUs: one file per rank, no collective of ours; whoever reads merges."""

import json

import pytest

from feedwatch.model.report import Status
from tests.contract.lightning.scripts import run

pytestmark = pytest.mark.slow


def reports(directory):
    return {path.name: json.loads(path.read_text()) for path in sorted(directory.glob("report*.json"))}


@pytest.mark.parametrize("strategy", ["ddp", "ddp_spawn"])
def test_every_rank_writes_its_own_file_and_the_reader_names_the_straggler(tmp_path, strategy):
    done = run(
        tmp_path,
        f"""
        watch = FeedWatch(console=False)
        fit = trainer(directory, [watch], strategy="{strategy}", devices=2, max_epochs=3)
        fit.fit(Model(), DataLoader(Items(slow_rank=1), batch_size=4))
        """,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    files = reports(tmp_path / "feedwatch")
    assert list(files) == ["report.json", "report.rank00001.json"]
    assert [report["run"]["rank"] for report in files.values()] == [0, 1]
    assert {report["run"]["world_size"] for report in files.values()} == {2}
    assert {report["status"] for report in files.values()} == {"finished"}
    events = list((tmp_path / "feedwatch").glob("events.out.*"))
    assert len(events) == 1

    from feedwatch.report.load import load_run

    merged = load_run(tmp_path / "feedwatch")
    assert merged.ranks.count == 2
    assert merged.ranks.slowest.rank == 1


def test_a_rank_that_dies_leaves_its_error_and_its_report(tmp_path):
    done = run(
        tmp_path,
        """
        class Dying(Model):
            def training_step(self, batch, index):
                if self.global_rank == 1 and index == 6:
                    raise RuntimeError("rank 1 is broken")
                return super().training_step(batch, index)

        watch = FeedWatch(console=False)
        trainer(directory, [watch], strategy="ddp_fork", devices=2).fit(Dying(), DataLoader(Items(), batch_size=2))
        """,
    )

    assert done.returncode != 0
    assert "rank 1 is broken" in done.stderr
    files = reports(tmp_path / "feedwatch")
    # Lightning tells a launched rank nothing about its own exception; what is known is that it did not finish.
    assert files["report.rank00001.json"]["status"] == Status.INTERRUPTED.value
    assert files["report.rank00001.json"]["steps"]["batches"] == 6
