"""Where a model runs and whether it fits, with machines made up."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from engine.failures import Failure
from engine.models.base import MAX_ROWS
from engine.models.slots import Slots
from engine.models.supply import device as place
from engine.models.supply.card import CARDS, GIB, ModelError
from engine.settings import SettingError

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@dataclasses.dataclass
class Machine:
    """What torch.cuda and the system say on it."""

    patch: pytest.MonkeyPatch

    def has(
        self, *, gpus: int = 0, capability: tuple = (9, 0), gpu: float = 0, main: float | None = 64
    ) -> None:
        """GiB free on each GPU and in main memory."""
        self.patch.delenv("SPACES_ZERO_GPU", raising=False)
        self.patch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
        self.patch.setattr(torch.cuda, "device_count", lambda: gpus)
        self.patch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
        free = int(gpu * GIB)
        self.patch.setattr(torch.cuda, "mem_get_info", lambda device: (free, free + 1))
        self.patch.setattr(place, "main_memory", lambda: None if main is None else int(main * GIB))

    def multiplies_bfloat16(self, does: bool) -> None:
        """Whether its processor has instructions for it."""
        self.patch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": does})
        place.cpu_has_bfloat16.cache_clear()

    def is_zero_gpu(self) -> None:
        """torch.cuda must not be used there: it would start CUDA before the card is lent."""
        self.patch.setenv("SPACES_ZERO_GPU", "true")
        for name in ("is_available", "device_count", "get_device_capability", "mem_get_info"):
            self.patch.setattr(torch.cuda, name, lambda *args: pytest.fail("torch.cuda was used"))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    yield Machine(monkeypatch)
    place.cpu_has_bfloat16.cache_clear()


def test_auto_is_a_gpu_where_there_is_one(machine: Machine) -> None:
    machine.has()
    assert place.resolve_device() == CPU
    machine.has(gpus=1)
    assert place.resolve_device("auto") == CUDA
    assert place.resolve_device("cpu") == CPU


@pytest.mark.parametrize(
    ("gpus", "wanted", "message"),
    [
        (0, "cuda", "There is no cuda here, only the CPU"),
        (1, "cuda:1", "There is no cuda:1 here, only 1 GPU:"),
        (2, "cuda:2", "There is no cuda:2 here, only 2 GPUs:"),
        (1, "toaster", "'toaster' is not a device: it is auto, cpu"),
        (1, "meta", "'meta' is not a device"),
        (1, "", "'' is not a device"),
    ],
)
def test_a_missing_device_is_reported(
    machine: Machine, gpus: int, wanted: str, message: str
) -> None:
    machine.has(gpus=gpus)
    with pytest.raises(ModelError, match=message):
        place.resolve_device(wanted)


@pytest.mark.parametrize(
    ("capability", "dtype"),
    [
        *(((7, minor), torch.float16) for minor in (5, 0)),
        *(((major, 0), torch.bfloat16) for major in (8, 9, 12)),
    ],
)
def test_numbers_follow_the_gpu(
    machine: Machine, capability: tuple[int, int], dtype: torch.dtype
) -> None:
    machine.has(gpus=1, capability=capability)
    assert place.resolve_dtype(CUDA) is place.resolve_dtype(CUDA, "auto") is dtype
    machine.multiplies_bfloat16(False)
    assert place.resolve_dtype(CPU) is torch.float32
    machine.multiplies_bfloat16(True)
    assert place.resolve_dtype(CPU) is torch.bfloat16
    for where, number in ((CPU, "bfloat16"), (CUDA, torch.bfloat16)):
        assert place.resolve_dtype(where, number) is torch.bfloat16
    words = "'int8' is not a dtype: it is auto, bfloat16, float16, float32"
    with pytest.raises(ModelError, match=words):
        place.resolve_dtype(CUDA, "int8")


def test_torch_cuda_is_not_used_on_zero_gpu(machine: Machine) -> None:
    machine.is_zero_gpu()
    assert place.resolve_device() == place.resolve_device("cuda") == CUDA
    assert place.resolve_dtype(CUDA) is torch.bfloat16
    assert place.available(CUDA) is None
    for card in CARDS.values():
        place.check(card, CUDA, torch.bfloat16)


def test_memory_is_weights_and_caches_and_working_room() -> None:
    sizes = {"parameters": 1000, "kv_values": 10, "length": 100, "working": 7}
    card = dataclasses.replace(CARDS["janus-pro-1b"], **sizes)
    positions = 100 + 256 + MAX_ROWS
    assert place.required_bytes(card, torch.float16, 1) == 2 * (1000 + 2 * positions * 10) + 7
    assert place.required_bytes(card, torch.float32, 3) == 4 * (1000 + 3 * 2 * positions * 10) + 7


def test_a_lane_takes_a_layer_more_for_a_drafter_and_what_its_graphs_keep() -> None:
    card = CARDS["llamagen-256"]
    lane = place.race_bytes(card, torch.float16, 2) - place.race_bytes(card, torch.float16, 1)
    positions = card.length + 256 + MAX_ROWS
    assert lane == 2 * 2 * positions * card.kv_values
    drafting = card.with_drafter()
    more = place.race_bytes(drafting, torch.float16, 1) - place.race_bytes(card, torch.float16, 1)
    assert more == lane // card.depth
    graphs = place.race_bytes(card, torch.float16, 3, graphs=True)
    assert graphs - place.race_bytes(card, torch.float16, 3) == 3 * 13 * 1024 * card.codes


@pytest.mark.parametrize(
    ("name", "gpu", "capability", "fits"),
    [
        ("janus-pro-1b", 15, (7, 5), True),  # T4
        ("llamagen-512", 15, (7, 5), True),
        ("anole", 15, (7, 5), False),
        ("emu3", 15, (7, 5), False),
        ("janus-pro-7b", 22, (8, 9), True),  # L4
        ("lumina-768", 22, (8, 9), True),
        ("emu3", 22, (8, 9), False),
        ("emu3", 44, (8, 9), True),  # L40S
        ("emu3", 79, (8, 0), True),  # A100
    ],
)
def test_public_models_on_known_cards(
    machine: Machine, name: str, gpu: float, capability: tuple[int, int], fits: bool
) -> None:
    machine.has(gpus=1, gpu=gpu, capability=capability)
    if fits:
        place.check(CARDS[name], CUDA, place.resolve_dtype(CUDA))
        return
    words = r"What fits, the largest first: (Janus-Pro 7B, )?LlamaGen 3B 384 px \(classes\), Llama"
    with pytest.raises(ModelError, match=words):
        place.check(CARDS[name], CUDA, place.resolve_dtype(CUDA))


def test_the_answer_names_what_would_fit_instead(machine: Machine) -> None:
    machine.has(main=20)
    machine.multiplies_bfloat16(False)
    with pytest.raises(ModelError) as caught:
        place.check(CARDS["janus-pro-7b"], CPU, torch.float32)
    # not Anole, which the host may not have switched on
    fitting = "LlamaGen 3B 384 px (classes), LlamaGen XL 256 px, LlamaGen XL 512 px"
    assert re.fullmatch(
        r"Janus-Pro 7B needs 29\.\d GiB on cpu in float32, and 20\.0 GiB are free\."
        rf" What fits, the largest first: {re.escape(fitting)}\.",
        str(caught.value),
    )
    machine.multiplies_bfloat16(True)
    with pytest.raises(ModelError, match=r"In bfloat16 it would fit: 15\.\d GiB\. What fits"):
        place.check(CARDS["janus-pro-7b"], CPU, torch.float32)
    machine.has(main=0.1)
    with pytest.raises(ModelError, match="No other model fits either"):
        place.check(CARDS["janus-pro-7b"], CPU, torch.float32)


def test_weights_pass_through_main_memory(machine: Machine) -> None:
    machine.has(gpus=1, gpu=80, main=4)
    place.check(CARDS["janus-pro-1b"], CUDA, torch.bfloat16)
    words = (
        r"where its weights need 12\.3 GiB, and 4\.0 GiB are free\. What fits, the largest first"
    )
    with pytest.raises(ModelError, match=rf"through main memory, {words}: LlamaGen XL 256 px"):
        place.check(CARDS["janus-pro-7b"], CUDA, torch.bfloat16)


def test_nothing_is_rejected_where_free_memory_is_unknown(machine: Machine) -> None:
    machine.has(main=None)
    place.check(CARDS["emu3"], CPU, torch.float32)


def test_main_memory_is_the_least_of_machine_and_container(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    assert place.main_memory(meminfo, tmp_path) is None
    meminfo.write_text("MemTotal:  16000 kB\nMemAvailable:    9000 kB\n")
    assert place.main_memory(meminfo, tmp_path) == 9000 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("7000\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 500\n")
    assert place.main_memory(meminfo, tmp_path) == 9000 * 1024
    (tmp_path / "memory.max").write_text("10000\n")
    assert place.main_memory(meminfo, tmp_path) == 10000 - 7000 + 500
    (tmp_path / "memory.current").write_text("20000\n")
    assert place.main_memory(meminfo, tmp_path) == 0
    meminfo.write_text("MemTotal:  16000 kB\n")
    assert place.main_memory(meminfo, tmp_path / "none") is None


def test_main_memory_is_that_of_a_container_of_cgroup_v1(tmp_path: Path) -> None:
    meminfo, memory = tmp_path / "meminfo", tmp_path / "memory"
    meminfo.write_text("MemAvailable:    9000 kB\n")
    memory.mkdir()
    (memory / "memory.limit_in_bytes").write_text("10000\n")
    (memory / "memory.usage_in_bytes").write_text("7000\n")
    (memory / "memory.stat").write_text("inactive_file 300\ntotal_inactive_file 500\n")
    assert place.main_memory(meminfo, tmp_path) == 10000 - 7000 + 500
    (memory / "memory.limit_in_bytes").write_text("9223372036854771712\n")  # none
    assert place.main_memory(meminfo, tmp_path) == 9000 * 1024


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), Failure.OUT_OF_MEMORY),
        (MemoryError(), Failure.OUT_OF_MEMORY),
        (torch.AcceleratorError("device-side assert triggered"), Failure.DEVICE_LOST),
        (SettingError("window is too large"), Failure.REJECTED_SETTING),
        (ModelError("it is gated"), Failure.MISSING_MODEL),
        (ModelError("it ran out of memory", Failure.OUT_OF_MEMORY), Failure.OUT_OF_MEMORY),
        (RuntimeError("CUDA error: out of memory"), Failure.BUG),
        (ValueError(), Failure.BUG),
    ],
)
def test_the_kind_of_a_failure_follows_from_its_type_alone(error, failure) -> None:
    assert place.classify(error, torch.device("cpu")) is failure


def test_an_allocation_that_cuda_itself_rejects_is_out_of_memory() -> None:
    error = torch.AcceleratorError("out of memory")
    error.error_code = 2
    assert place.classify(error, torch.device("cuda")) is Failure.OUT_OF_MEMORY


@pytest.mark.parametrize(("responds", "failure"), [(True, "BUG"), (False, "DEVICE_LOST")])
def test_a_library_error_is_a_lost_device_if_the_device_no_longer_responds(
    monkeypatch: pytest.MonkeyPatch, responds: bool, failure: str
) -> None:
    lost = None if responds else torch.AcceleratorError("unspecified launch failure")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", Mock(side_effect=lost))
    error = RuntimeError("CUBLAS_STATUS_EXECUTION_FAILED")
    assert place.classify(error, torch.device("cuda")) is Failure[failure]


@pytest.mark.parametrize(("free", "most"), [(8, None), (3, 5), (1.5, 1), (0.5, 0)])
def test_a_race_has_the_lanes_that_fit_beside_the_model(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, free: float, most: int | None
) -> None:
    """Janus-Pro 1B: 1 GiB of working memory, 0.35 GiB a lane."""
    card, dtype = CARDS["janus-pro-1b"], torch.bfloat16
    machine.has(gpus=1, gpu=free)
    for name in ("memory_reserved", "memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda device: 0)
    if most is None:
        place.check_lane_count(card, CUDA, dtype, 8, Slots())
        return
    if most:
        place.check_lane_count(card, CUDA, dtype, most, Slots())
    words = f"race {most} at most" if most else "free some"
    with pytest.raises(SettingError, match=f"7 lanes of Janus-Pro 1B need 3.* GiB .*{words}"):
        place.check_lane_count(card, CUDA, dtype, 7, Slots())


def test_what_slots_hold_is_a_races_own_and_what_others_hold_is_freed_where_room_is_short(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, dtype = CARDS["janus-pro-1b"], torch.bfloat16
    machine.has(gpus=1, gpu=1.25)  # room for working memory, not for a lane
    for name in ("memory_reserved", "memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda device: 0)
    slots, size = Slots(), 2 * (card.length + 600) * card.kv_values
    taken = [slots.take() for _ in range(3)]
    for slot in taken:
        slot.cache("body", 1, 2, 1, size // 4, 1, dtype, torch.device("cpu"))
    with pytest.raises(SettingError, match="free some"):
        place.check_lane_count(card, CUDA, dtype, 1, slots)  # another race has them
    for slot in taken:
        slots.release(slot)
    place.check_lane_count(card, CUDA, dtype, 3, slots)
    assert all(slot.bytes for slot in taken)
    with pytest.raises(SettingError, match="race 4 at most"):
        place.check_lane_count(card, CUDA, dtype, 5, slots)
    machine.has(gpus=1, gpu=0.9)
    place.check_lane_count(card, CUDA, dtype, 1, slots)
    assert [bool(slot.bytes) for slot in taken] == [True, False, False]
