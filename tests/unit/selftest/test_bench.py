"""Work of a known length on the device under test."""

import time

import pytest
import torch

from feedwatch.selftest.bench import Bench


def test_a_cpu_has_no_clock_of_its_own_and_works_on_the_host():
    bench = Bench("cpu")
    assert bench.on_cpu
    assert bench.clock is None
    began_s = time.perf_counter()
    bench.kernel(5)
    assert time.perf_counter() - began_s >= 0.005


def test_a_kernel_takes_its_time_on_the_device_and_none_of_the_host(emulated):
    bench = Bench("emulated:1")
    assert bench.index == 1
    assert bench.span_ms(lambda: bench.kernel(30)) == pytest.approx(30, abs=3)
    assert {it.device for it in emulated.operations("kernel")} == {1}


def test_without_a_name_the_accelerator_is_taken(emulated):
    assert Bench().device == torch.device("emulated:0")


def test_a_device_that_cannot_sleep_multiplies_matrices(emulated, monkeypatch):
    emulated.settings.operator_us = 1000
    monkeypatch.setattr(
        "feedwatch.selftest.bench._SIDE", 16
    )  # the host computes it, too, and shall not be the slower one
    monkeypatch.delattr(torch.emulated, "kernel")
    bench = Bench("emulated:0")
    assert bench.span_ms(lambda: bench.kernel(40)) == pytest.approx(40, rel=0.5)
