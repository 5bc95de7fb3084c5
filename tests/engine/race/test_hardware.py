"""The machine's name."""

from __future__ import annotations

import os

import pytest
import torch

from engine.race import hardware
from engine.race.hardware import device_name, is_of_this_machine


def test_a_processor_is_named_with_its_cores_and_the_threads_in_use() -> None:
    used = torch.get_num_threads()
    try:
        names = {}
        for count in (1, 2):
            torch.set_num_threads(count)
            names[count] = device_name(torch.device("cpu"))
    finally:
        torch.set_num_threads(used)
    cores = os.cpu_count()
    assert f", {cores} core{'s' * (cores != 1)}, 1 thread, torch {torch.__version__}" in names[1]
    assert ", 2 threads, " in names[2]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Intel(R) Xeon(R) Processor", "Intel Xeon"),
        ("Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz", "Intel Core i7-8550U @ 1.80GHz"),
        ("AMD EPYC", "AMD EPYC"),
    ],
)
def test_a_processors_name_has_no_trademark_signs(
    model: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware, "_cpuinfo", lambda: ["processor\t: 0", f"model name\t: {model}"])
    assert device_name(torch.device("cpu")).startswith(f"{name}, ")


def test_a_machine_knows_its_own_name_whatever_its_threads_and_its_torch() -> None:
    name = device_name(torch.device("cpu"))
    processor, cores, *_ = name.split(", ")
    assert is_of_this_machine(name)
    assert is_of_this_machine(f"{processor}, {cores}, 64 threads, torch 1.0")
    assert not is_of_this_machine(f"{processor}, 1,000 cores, 1 thread, torch 1.0")
    for other in (f"Another, {cores}", "NVIDIA H100, 80 GiB, torch 2.13.0", "there", ""):
        assert not is_of_this_machine(other)
