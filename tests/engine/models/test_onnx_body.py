"""OnnxBody against the lean body that it is made from, in float64: windows of every kind, the cache
that they leave, and what has no graph."""

from __future__ import annotations

import functools
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from engine.infilling import MASKED, Infilling
from engine.models.cache import WindowCache, ancestors
from engine.models.embedded.model import EmbeddedModel
from engine.models.lean import LeanBody
from engine.models.onnx_body import OnnxBody, fastest_body, file_name
from engine.models.supply.card import WEIGHTS
from engine.plan import below
from engine.race.hardware import device_name, machine_of
from tests.engine.models.families.tiny import CPU

CLOSE = {"rtol": 0, "atol": 1e-4}
PARENTS = [0, 0, 1, 1, 0, 4]


@functools.cache
def model(dtype: torch.dtype) -> EmbeddedModel:
    return EmbeddedModel(dtype=dtype)


def lean(part: str, dtype: torch.dtype = torch.float32) -> LeanBody:
    whole = model(dtype)
    return whole.lean if part == "target" else whole.drafter.lean


@functools.cache
def onnx(part: str) -> OnnxBody:
    return OnnxBody(lean(part), WEIGHTS / part)


class Pair:
    """The same windows through ONNX Runtime in float32 and the lean body in float64."""

    def __init__(self, part: str = "target", rows: int = 2, bucket: int = 1) -> None:
        self.part, self.rows = part, rows
        count, wide = len(lean(part).layers), torch.float64
        sizes = (count, rows, lean(part).kv_heads, 240, lean(part).head_dim)
        self.ours = WindowCache(*sizes, torch.float32, CPU, bucket)
        self.theirs = WindowCache(*sizes, wide, CPU, bucket)
        self.generator = torch.Generator().manual_seed(7)

    def window(self, mask: Tensor | None, ids: Tensor, queries: Tensor | None = None) -> None:
        """Random rows at position ids [T], of which a bool mask [T, S] says what each sees."""
        body = lean(self.part, torch.float64)
        width = len(body.norm) if body.join is None else body.join.weight.shape[1]
        length, shown = len(ids), None
        inputs = torch.randn(self.rows, length, width, generator=self.generator).double() / 3
        for cache in (self.ours, self.theirs):
            cache.open(length)
        if mask is not None:
            end = self.ours.end - mask.shape[1]
            mask = torch.nn.functional.pad(mask, (0, end))  # the rest of a bucket
            least = torch.finfo(torch.float32).min
            shown = torch.zeros(mask.shape).masked_fill_(~mask, least)[None, None]
            shown = shown.expand(self.rows, -1, -1, -1)
        ids = ids.expand(self.rows, -1)
        asked = None if queries is None else queries.expand(self.rows, -1)
        states = onnx(self.part)(inputs.float(), shown, ids, self.ours, asked)
        wide = None if shown is None else shown.double()
        expected = body(inputs, wide, ids, self.theirs, asked)
        torch.testing.assert_close(states.double(), expected, **CLOSE)

    def keep(self, rows: list[int]) -> None:
        for cache in (self.ours, self.theirs):
            cache.keep(rows)
        for ours, theirs in zip(self.ours.layers, self.theirs.layers, strict=True):
            for part in zip(ours, theirs, strict=True):
                ours_, theirs_ = (tensor[:, :, : self.ours.base] for tensor in part)
                torch.testing.assert_close(ours_.double(), theirs_, **CLOSE)

    def chain(self, length: int) -> None:
        end = self.ours.base + length
        self.window(
            torch.ones(length, end, dtype=torch.bool).tril(self.ours.base), self.ids(length)
        )
        self.keep(list(range(length)))

    def ids(self, length: int) -> Tensor:
        return torch.arange(self.ours.base, self.ours.base + length)


every_part = pytest.mark.parametrize("part", ["target", "drafter"])


@every_part
@pytest.mark.parametrize("rows", [1, 2])
@torch.inference_mode()
def test_windows_equal_the_lean_bodys(part: str, rows: int) -> None:
    """A prompt, a tree of which a path is kept, one row with and without a mask, rows that see
    later ones, and the longest chain."""
    pair = Pair(part, rows)
    pair.chain(17)
    seen = ancestors(PARENTS)
    seen = torch.cat([torch.ones(len(seen), 17, dtype=torch.bool), seen], 1)
    pair.window(seen, 17 + ancestors(PARENTS).sum(1) - 1)
    pair.keep([0, 1, 3])
    pair.chain(1)
    pair.window(None, pair.ids(1))
    pair.keep([0])
    pair.window(None, pair.ids(3))
    pair.keep([0])
    seen = torch.ones(4, pair.ours.base + 4, dtype=torch.bool).tril(pair.ours.base)
    seen[1, -1] = True
    seen[3, 5] = False
    pair.window(seen, torch.tensor([90, 40, 91, 41]))
    pair.keep([0, 1])
    pair.chain(96)


@torch.inference_mode()
def test_a_row_that_leaves_the_batch_and_a_cache_that_is_used_again() -> None:
    pair = Pair()
    pair.chain(9)
    for cache in (pair.ours, pair.theirs):
        cache.narrow()
    pair.rows = 1
    pair.chain(5)
    pair.chain(1)
    for cache in (pair.ours, pair.theirs):
        cache.reset(2)
    pair.rows = 2
    pair.chain(3)
    for cache in (pair.ours, pair.theirs):
        cache.roll_back(1)
    pair.chain(4)


@torch.inference_mode()
def test_lanes_take_turns() -> None:
    pairs = [Pair(), Pair(rows=1), Pair()]
    for length in (7, 1, 4):
        for pair in pairs:
            pair.chain(length)


@torch.inference_mode()
def test_caches_that_are_gone_leave_nothing() -> None:
    gc.collect()
    before = len(onnx("target")._bindings)
    pair = Pair()
    pair.chain(2)
    assert len(onnx("target")._bindings) == before + 1
    del pair
    gc.collect()
    assert len(onnx("target")._bindings) == before


@torch.inference_mode()
def test_what_the_graph_does_not_have_the_lean_body_runs() -> None:
    """Queries rotated otherwise than keys, and slots behind the window."""
    pair = Pair()
    pair.window(torch.ones(4, 4, dtype=torch.bool).tril(), torch.arange(4), torch.arange(4) + 3)
    pair.keep([0, 1])
    pair = Pair(bucket=16)
    pair.chain(3)
    pair.chain(2)


@pytest.mark.parametrize("below_row", [0, 10])
@torch.inference_mode()
def test_logits_of_whole_pictures_and_of_their_rests(below_row: int) -> None:
    """Windows of 1 to 64 rows and a tree, with guidance for the first 100 tokens."""
    fast, wide = model(torch.float32), model(torch.float64)
    generator = torch.Generator().manual_seed(3)
    codes = torch.randint(fast.vocab_size, (400,), generator=generator).tolist()
    plan, known = None, below_row * 20
    if known:
        infilling = Infilling((*codes[:known], *(MASKED,) * (400 - known)), "raster")
        plan = below(fast.plan, infilling)
    lanes = [(m, m.start("cat and dog on green grass", 1.5, 100, plan)) for m in (fast, wide)]
    for length in (1, 64, 16, 32, 4, 1, 33, 64):
        parents = tuple(PARENTS) if length == 4 else None
        tokens = torch.tensor(codes[: len(parents or range(length))])
        logits, exact = (each.forward(ctx, tokens, parents) for each, ctx in lanes)
        # Guidance s multiplies what its rows are off by, up to 2 s - 1 times.
        torch.testing.assert_close(logits.double(), exact, rtol=0, atol=2 * CLOSE["atol"])
        for _, ctx in lanes:
            ctx.keep([0, 1, 3] if parents else range(len(tokens)))
        codes = codes[len(tokens) :]


def without_package(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setitem(sys.modules, "onnxruntime", None)


def without_file(folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / file_name(1)).unlink()


def broken_file(folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / file_name(2)).write_bytes(b"a graph")


def of_another_norm(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lean("target"), "eps", 1e-5)


def of_another_body(folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / file_name(2)).write_bytes((WEIGHTS / "drafter" / file_name(2)).read_bytes())


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (without_package, "onnxruntime"),
        (without_file, file_name(1)),
        (broken_file, file_name(2)),
        (
            of_another_norm,
            "layers-1.onnx is of another body; python -m train.export makes it again",
        ),
        (of_another_body, ""),
    ],
)
def test_where_it_cannot_run_the_lean_body_does_and_the_log_says_why(
    spoil: Callable[[Path, pytest.MonkeyPatch], None],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for rows in (1, 2):
        (tmp_path / file_name(rows)).write_bytes(
            (WEIGHTS / "target" / file_name(rows)).read_bytes()
        )
    assert isinstance(fastest_body(lean("target"), tmp_path), OnnxBody)
    assert not caplog.messages
    spoil(tmp_path, monkeypatch)
    assert fastest_body(lean("target"), tmp_path) is lean("target")
    (message,) = caplog.messages
    assert message.startswith(f"the layers of {tmp_path} run in PyTorch: ")
    assert reason in message


def test_it_is_the_way_of_a_processor_in_float32_and_named_with_the_machine() -> None:
    fast, wide = model(torch.float32), model(torch.float64)
    for runs in (fast, fast.drafter):
        assert isinstance(runs.run_layers, OnnxBody)
    for runs in (wide, wide.drafter):
        assert runs.graphs is None
        assert runs.run_layers is runs.lean
    name = device_name(CPU)
    assert machine_of(wide) == name
    assert machine_of(fast) == f"{name}, {fast.runtime}"
    assert fast.runtime.startswith("ONNX Runtime 1.")


def test_it_computes_with_as_many_threads_as_torch() -> None:
    used = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        two = OnnxBody(lean("drafter"), WEIGHTS / "drafter")
    finally:
        torch.set_num_threads(used)
    for session in two._sessions.values():
        assert session.get_session_options().intra_op_num_threads == 2


def test_nothing_is_written_into_the_home_folder(tmp_path) -> None:
    """Where its telemetry is on, ONNX Runtime writes an identifier and a data base there."""
    cached = ("XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY")
    kept = {name: value for name, value in os.environ.items() if name not in cached}
    script = "from engine.models import load; print(load('embedded').runtime)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command,
        env=kept | {"HOME": str(tmp_path)},
        cwd=WEIGHTS.parent,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("ONNX Runtime"), done.stderr
    assert not [*tmp_path.rglob("*")]
