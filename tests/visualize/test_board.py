from __future__ import annotations

import base64
import io
import itertools
import json
from typing import Any

import numpy as np
import pytest
from gradio.utils import diff
from PIL import Image

from engine.race import Lane, Race
from engine.records import Frame, LaneState
from engine.trace import Header, Trace
from tests.toy import Toy
from tests.visualize.races import FIVE, frame, pixels, run, step
from visualize.board import Board, token_hash

GROWING = {"tokens": 4, "top1": 2, "tv": 2, "status": 1}


def snapshots(header: Header, frames: list[Frame], every: int = 5) -> list[dict[str, Any]]:
    board, out = Board(header, pixels), []
    out.append(board.snapshot())
    for i, move in enumerate(frames):
        board.fold(move)
        if i % every == 0:
            out.append(board.snapshot())
    return [*out, board.snapshot()]


def small(*names: str, side: int = 2) -> Board:
    race = Race(Toy((side, side), 16), [Lane(name) for name in names], "a prompt", 1)
    return Board(Header.of(race), pixels)


@pytest.fixture(scope="module")
def race() -> tuple[Header, list[Frame]]:
    return run()


def test_committed_strings_only_grow(race) -> None:
    shots = snapshots(*race)
    for before, after in itertools.pairwise(shots):
        for old, new in zip(before["lanes"], after["lanes"], strict=True):
            for name, digits in GROWING.items():
                assert new[name].startswith(old[name])
                assert len(new[name]) == digits * new["n"]
            assert new["lengths"].startswith(old["lengths"])


def test_final_snapshot_holds_what_the_decoders_committed(race) -> None:
    header, frames = race
    last = snapshots(header, frames)[-1]
    assert last["state"] == "finished"
    for i, lane in enumerate(last["lanes"]):
        tokens = [p.token for move in frames if move.lane == i and move.step for p in move.step.committed]
        read = [int(lane["tokens"][at : at + 4], 16) for at in range(0, len(lane["tokens"]), 4)]
        assert read == tokens
        assert lane["window"] == {"top1": "", "tv": "", "status": ""}
        assert sum(int(lane["lengths"][at : at + 3], 16) for at in range(0, len(lane["lengths"]), 3)) == len(tokens)


def test_replay_equals_live(race) -> None:
    header, frames = race
    trace = Trace.loads(Trace(header, tuple(frames)).dumps())
    assert snapshots(trace.header, list(trace.frames)) == snapshots(header, frames)


def test_finished_pictures_travel_without_loss(race) -> None:
    header, frames = race
    for lane in snapshots(header, frames)[-1]["lanes"]:
        rows = [np.asarray(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB")) for text in lane["strips"]]
        tokens = np.array([int(lane["tokens"][at : at + 4], 16) for at in range(0, len(lane["tokens"]), 4)])
        np.testing.assert_array_equal(np.concatenate(rows), pixels(tokens.reshape(1, *header.grid))[0])


def test_pictures_of_all_changed_lanes_are_decoded_in_one_call() -> None:
    calls = []
    board = small("ar", "sjd", "gsd")
    board._pixels = lambda tokens: calls.append(tokens.shape) or pixels(tokens)
    for lane in (0, 2):
        board.fold(frame(lane, step(0, 1), 4))
    board.snapshot()
    board.snapshot()
    assert calls == [(2, 2, 2)]


def test_forced_positions_are_left_out() -> None:
    header, frames = run(("ar", "sjd"), side=4, forced=True)
    assert len(header.forced_ids) == 20
    last = snapshots(header, frames)[-1]
    for lane in last["lanes"]:
        assert lane["n"] == 16
        assert len(lane["tokens"]) == 64
        assert "3" not in lane["status"]


def test_drafts_stand_ahead_of_the_frontier_until_the_lane_stops() -> None:
    board = small("sjd")
    board.fold(frame(0, step(0, 1, drafts=2), 4))
    lane = board.snapshot()["lanes"][0]
    assert (lane["n"], lane["status"], lane["window"]["status"]) == (1, "0", "44")
    assert lane["strips"][0]
    assert lane["strips"][1]
    board.fold(Frame(0, LaneState.STOPPED))
    snapshot = board.snapshot()
    assert snapshot["state"] == "stopped"
    assert snapshot["lanes"][0]["window"]["status"] == ""


def test_shares_use_two_digits_and_say_where_there_is_none() -> None:
    board = small("sjd", "ar")
    board.fold(frame(0, step(0, 1), 4))
    assert board.snapshot()["lanes"][0]["top1"] == "7f"
    header, frames = run(("ar",), side=2)
    assert snapshots(header, frames)[-1]["lanes"][0]["tv"] == "ff" * 4


def test_places_wait_for_lanes_that_could_still_come_in_before() -> None:
    board = small("ar", "sjd")
    board.fold(frame(0, step(0, 2, seconds=1.0, nfe=1), 4))
    board.fold(frame(1, step(0, 4, seconds=3.0, nfe=1), 4))
    assert board.snapshot()["lanes"][1]["places"] == {"seconds": None, "passes": 1}
    board.fold(frame(0, step(2, 4, seconds=1.0, nfe=2), 4))
    lanes = board.snapshot()["lanes"]
    assert lanes[0]["places"] == {"seconds": 1, "passes": 2}
    assert lanes[1]["places"] == {"seconds": 2, "passes": 1}


def test_ties_share_a_place() -> None:
    board = small("ar", "sjd", "gsd")
    for lane, seconds in ((0, 1.0), (1, 1.0), (2, 2.0)):
        board.fold(frame(lane, step(0, 4, seconds=seconds), 4))
    assert [lane["places"]["seconds"] for lane in board.snapshot()["lanes"]] == [1, 1, 3]


def test_results_compare_with_vanilla_ar_in_both_clocks() -> None:
    board = small("ar", "sjd")
    for i in range(4):
        board.fold(frame(0, step(i, i + 1, seconds=1.0, nfe=i + 1), 4))
    assert board.snapshot()["results"] == []
    for i in range(2):
        board.fold(frame(1, step(2 * i, 2 * i + 2, seconds=1.6, nfe=i + 1), 4))
    sjd, ar = board.snapshot()["results"]
    assert (sjd["lane"], sjd["compression"], sjd["length"], sjd["passes"]) == (1, 2.0, 2.0, 2)
    assert sjd["faster"] == {"seconds": 1.25, "passes": 2.0}
    assert ar["faster"] == {"seconds": 1.0, "passes": 1.0}


def test_a_broken_promise_of_the_identical_image_is_reported() -> None:
    for token, differs in ((3, None), (5, 2)):
        board = small("ar", "fpi", "sjd")
        board.fold(frame(0, step(0, 4), 4))
        board.fold(frame(1, step(0, 2), 4))
        board.fold(frame(1, step(2, 4, token=token, nfe=2), 4))
        board.fold(frame(2, step(0, 4, token=9), 4))
        found = {row["lane"]: row["differs"] for row in board.snapshot()["results"]}
        assert found == {0: None, 1: differs, 2: None}, "only who promises vanilla AR's picture is held to it"


def test_a_failed_lane_says_why_and_the_others_finish() -> None:
    board = small("ar", "sjd")
    board.fold(frame(0, step(0, 4), 4))
    board.fold(Frame(1, LaneState.FAILED, error="out of memory"))
    snapshot = board.snapshot()
    assert snapshot["state"] == "finished"
    assert snapshot["lanes"][1]["error"] == "out of memory"
    assert [row["lane"] for row in snapshot["results"]] == [0]


def test_five_lanes_travel_in_under_25_kB_an_update() -> None:
    shots = snapshots(*run(FIVE, side=16), every=8)
    sent = [len(json.dumps(diff(old, new))) for old, new in itertools.pairwise(shots)]
    assert sum(sent) / len(sent) < 25_000


def test_token_hash_is_fnv_1a() -> None:
    assert token_hash([]) == "811c9dc5"
    assert token_hash([0x6F6F66, 0x726162]) == f"{_fnv(b'foo' + bytes(1) + b'bar' + bytes(1)):08x}"


def _fnv(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 16777619) % 2**32
    return value
