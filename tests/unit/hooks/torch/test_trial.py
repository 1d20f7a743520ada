"""Which variants there are of a loader. Trials of real trainings are in tests/contract/test_trials.py."""

import pytest

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402

from feedwatch.hooks.torch.trial import LoaderPlan, loader_fix, plan_of  # noqa: E402
from feedwatch.model.facts import BatchFacts, HostFacts  # noqa: E402
from feedwatch.model.pipeline import LoaderFacts, PipelineFacts  # noqa: E402
from feedwatch.settings import TrialWish  # noqa: E402
from feedwatch.trial.variant import AS_IS, CEILING, Refused, Variant  # noqa: E402
from tests.fakes.reports import report  # noqa: E402
from tests.fakes.trials import finding  # noqa: E402
from tests.fakes.values import facts, run_facts  # noqa: E402


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.zeros(2)


def plan(loader=None, findings=(), wish=None, batch_bytes=1000, **seen):
    loader = loader or DataLoader(Rows(), batch_size=2)
    told = {"num_workers": loader.num_workers, "prefetch_factor": loader.prefetch_factor, "persistent_workers": False}
    known = LoaderFacts(**told, pin_memory=False, batch_size=2, **seen)
    all_facts = facts(
        run=run_facts(),
        pipeline=PipelineFacts("dataloader", loader=known),
        host=HostFacts(cpu_budget=2.0),
        batch=BatchFacts(batch_bytes, 1),
    )
    from dataclasses import replace

    told_report = replace(report(), findings=tuple(findings))
    return LoaderPlan(loader, None, all_facts, told_report, wish or TrialWish())


def advised(code, **numbers):
    from dataclasses import replace

    return replace(finding(code), evidence={name: float(value) for name, value in numbers.items()})


def singles(made, workers=2):
    return [dict(each) for each in made._single_changes(workers)]


def test_the_advised_number_is_tried_as_the_findings_own():
    made = plan(findings=[advised("FW101", workers_advised=3)])
    variant = made._with_workers(3)
    assert (variant.advised, variant.codes, variant.lanes, variant.ahead) == (True, ("FW101",), 3, 2)
    assert variant.settings == {"num_workers": 3, "persistent_workers": True}
    assert not made._with_workers(2).advised


@pytest.mark.parametrize(
    ("now", "workers", "code"), [(0, 2, "FW101"), (2, 4, "FW102"), (4, 2, "FW103"), (2, 0, "FW114")]
)
def test_every_number_of_workers_is_some_rules_change(now, workers, code):
    made = plan(DataLoader(Rows(), num_workers=now))
    assert made._with_workers(workers).codes == (code,)


def test_changes_that_cannot_matter_here_are_not_tried():
    assert singles(plan(), workers=0) == []
    assert {"pin_memory": True} not in singles(plan())  # there is no device to copy to
    assert {"in_order": False} not in singles(plan())  # nobody asked for another order


def test_what_a_finding_or_the_user_asks_for_is_tried():
    made = plan(findings=[advised("FW105", prefetch_factor_advised=8), advised("FW108")])
    assert {"prefetch_factor": 8} in singles(made)
    assert {"in_order": False} in singles(made)
    assert singles(plan(wish=TrialWish(only=("FW105",)))) == [{"prefetch_factor": 4}]


def test_whole_batches_are_tried_where_they_can_be_made():
    made = plan(DataLoader(TensorDataset(torch.zeros(8, 2)), batch_size=2))
    assert {"__getitems__": True} in singles(made, workers=0)


def refusal(made, **settings):
    with pytest.raises(Refused) as why:
        made.check(Variant("v", settings=settings, ahead=2))
    return str(why.value)


def test_more_memory_than_there_is_is_refused():
    assert "/dev/shm" in refusal(plan(batch_bytes=10**12), num_workers=2)


def test_a_stream_that_does_not_divide_itself_is_refused():
    assert "every row would come 2 times" in refusal(plan(iterable=True), num_workers=2)
    plan(iterable=True, shards_itself=True).check(Variant("v", settings={"num_workers": 2}))
    plan(iterable=True).check(Variant("v", settings={"num_workers": 1}))


def test_tensors_on_a_device_are_refused():
    assert "on the device" in refusal(plan(device_tensors=True), num_workers=1)


def test_the_run_as_it_is_goes_on_with_its_own_iterator_and_its_batch_is_the_ceiling():
    loader = DataLoader(Rows(), batch_size=2)
    made = plan(loader)
    source = made.open(AS_IS)
    batch = source.next()
    assert made.open(CEILING).next() is batch


def test_what_is_no_loader_is_measured_as_it_is():
    made = plan_of([torch.zeros(2)] * 3, None, facts(run=run_facts()), None, TrialWish())
    assert made.search.next({}, frozenset()) is None
    assert "no DataLoader" in made.notes[0]
    assert made.open_source(AS_IS).next().shape == (2,)


def test_the_edit_stands_at_the_users_own_call():
    loader = LoaderFacts(0, None, False, False, 4, call_site="train.py:7")
    fix = loader_fix(loader, {"num_workers": 2, "persistent_workers": True, "torch.set_num_threads": 1}, [])
    assert fix.after.splitlines() == [
        "loader = DataLoader(..., num_workers=2, persistent_workers=True)  # train.py:7",
        "torch.set_num_threads(1)  # before training",
    ]
    assert loader_fix(loader, {"num_workers": 0, "prefetch_factor": 4}, []).after.startswith(
        "loader = DataLoader(..., num_workers=0)"
    )
