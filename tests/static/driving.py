"""The board's JavaScript under node, and wires written by hand to feed it."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import pack
from typing import Any

import pytest

from visualize.assets import STATIC

# The files that can be tested without a page, pasted together as they are there.
PURE = ("records.js", "layers.js", "draw.js", "panels.js", "why.js", "chapters.js", "controls.js")
NONE = 65535
GROWING = ("steps", "cells", "laws", "kin", "siblings")
ACCEPTED, RESAMPLED, FRESH, FORCED, REFINED, REJECTED = range(6)
LANE = "const lane = decodeRace(shot, null).lanes[0]; "


def node(code: str, **values: Any) -> Any:
    """Runs a function body after the board's files, with `values` by their names; what it
    returns."""
    files = "\n".join((STATIC / name).read_text("utf-8") for name in PURE)
    call = (
        f"((({', '.join(values)}) => {{ {code}"
        f" }})({', '.join(json.dumps(value) for value in values.values())}))"
    )
    done = subprocess.run(
        ["node"],
        input=f"{files}\nconsole.log(JSON.stringify({call} ?? null));",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def near(value: float) -> object:
    """Equal, but for a share's 16 bits."""
    return pytest.approx(value, abs=1e-5)


def share(value: float | None) -> int:
    return NONE if value is None else round(65534 * value)


def law(*pairs: tuple[int, float]) -> bytes:
    flat = [number for token, probability in pairs for number in (token, share(probability))]
    return pack("<B16H", len(pairs), *flat, *[0] * (16 - len(flat)))


@dataclass
class Wire:
    """A lane's columns, written record by record as visualize/wire.py describes them."""

    name: str = "sjd"
    state: str = "racing"
    columns: dict[str, bytes] = field(default_factory=lambda: dict.fromkeys(GROWING, b""))

    def step(
        self,
        nfe: int,
        touched: int,
        committed: int,
        *,
        tokens: int | None = None,
        drafter: int = 0,
        micros: Sequence[int] = (1000, 0, 0, 0),
    ) -> Wire:
        fixed = committed if tokens is None else tokens
        self.columns["steps"] += pack("<I4H4I2x", nfe, touched, committed, fixed, drafter, *micros)
        return self

    def cell(
        self,
        token: int,
        status: int,
        *,
        draft: int | None = None,
        kind: int = 0,
        shares: Sequence[float | None] = (0.5,),
        laws: Sequence[bytes] = (law(),),
    ) -> Wire:
        """`shares`: top1, top1_draft, tv, acceptance, uniform, p, q; those left out are none."""
        padded = [*shares, *[None] * (7 - len(shares))]
        self.columns["cells"] += pack(
            "<2H2B7Hx", NONE if draft is None else draft, token, status, kind, *map(share, padded)
        )
        self.columns["laws"] += b"".join(laws)
        return self

    def kin(self, count: int, p: float, q: float, *tokens: int) -> Wire:
        self.columns["kin"] += pack(
            "<11H2x", count, share(p), share(q), *tokens, *[NONE] * (8 - len(tokens))
        )
        return self

    def sibling(self, token: int, *shares: float) -> Wire:
        self.columns["siblings"] += pack("<5H2x", token, *map(share, shares))
        return self

    def lane(self) -> dict[str, Any]:
        texts = {name: base64.b64encode(column).decode() for name, column in self.columns.items()}
        return {
            "decoder": self.name,
            "title": self.name.upper(),
            "state": self.state,
            "strips": [],
            **texts,
        }


def snapshot(
    *lanes: Wire, seq: int = 1, grid: tuple[int, int] = (2, 3), **facts: Any
) -> dict[str, Any]:
    return {
        "seq": seq,
        "recorded": False,
        "prompt": "a prompt",
        "seed": 7,
        "model": "toy",
        "machine": "here",
        "codes": 16,
        "grid": list(grid),
        "lanes": [lane.lane() for lane in lanes],
    } | facts


def three_steps() -> Wire:
    """Two cells and a draft; one that was resampled, with two drafts behind it; and the two
    left."""
    wire = Wire()
    wire.step(1, 3, 2, drafter=2, micros=(1000, 200, 30, 4))
    wire.cell(5, FRESH).cell(6, ACCEPTED, draft=6).cell(7, REFINED, draft=7)
    wire.step(3, 3, 1, tokens=2, micros=(500, 0, 0, 0))
    wire.cell(9, RESAMPLED, draft=7, shares=(0.25, 0.5, 0.75, 0.125)).cell(
        1, REJECTED, draft=2
    ).cell(2, REFINED, draft=2)
    wire.step(4, 3, 3)
    return wire.cell(1, ACCEPTED, draft=1).cell(2, ACCEPTED, draft=2).cell(3, FRESH)
