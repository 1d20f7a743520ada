"""What rules ask about the CPUs."""

import pytest

from feedwatch.advise.questions.cpu import computes, cpu_saturated, crowded
from tests.rules.build import case, cuda, host, loader, torch_run, window


def seen(of=None, **facts):
    return case(window(100, 60), of=of, host_facts=host(**facts))


@pytest.mark.parametrize(("used", "answer"), [(7.2, True), (7.1, False), (None, None)])
def test_nine_tenths_of_the_budget_are_all_of_it(used, answer):
    assert cpu_saturated(seen(cpu_budget=8.0, cpu_used=used)) is answer


def test_ranks_share_the_budget():
    assert cpu_saturated(seen(of=torch_run(local_ranks=4), cpu_budget=8.0, cpu_used=1.9)) is True


def test_workers_that_wait_for_a_core_are_a_full_machine_unless_they_wait_for_storage():
    full = loader(core_wait_share=0.3, blocked_share=0.1)
    storage = loader(core_wait_share=0.3, blocked_share=0.6)
    unknown = host(cpu_budget=None, cpu_used=None)
    assert cpu_saturated(case(window(100, 60), loader=full, host_facts=unknown)) is True
    assert cpu_saturated(case(window(100, 60), loader=storage, host_facts=unknown)) is False


def test_a_machine_is_crowded_when_it_is_full_and_others_fill_it():
    assert crowded(seen(cpu_budget=8.0, cpu_used=2.0, machine_cpu_share=0.95))
    assert not crowded(seen(cpu_budget=8.0, cpu_used=7.6, machine_cpu_share=0.95))
    assert not crowded(seen(cpu_budget=8.0, cpu_used=2.0, machine_cpu_share=0.5))
    assert not crowded(seen(cpu_budget=8.0, cpu_used=2.0))


def test_work_computes_when_enough_cpu_time_is_burnt_for_it_beside_the_step():
    # 70 % of 60 ms, and on a CPU device a quarter of the remaining 40 ms: 52 of 100 ms.
    assert computes(seen(cpu_used=0.53), 60.0) is True
    assert computes(seen(cpu_used=0.51), 60.0) is False
    assert computes(seen(of=cuda(), cpu_used=0.43), 60.0) is True
    assert computes(seen(cpu_used=None), 60.0) is None


def test_on_a_crowded_machine_little_cpu_time_proves_nothing():
    assert computes(seen(cpu_used=0.3, machine_cpu_share=1.0), 60.0) is True
    assert computes(seen(cpu_used=0.2, machine_cpu_share=1.0), 60.0) is None
