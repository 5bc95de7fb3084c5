from __future__ import annotations

import base64
import io
import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gradio.utils import diff
from PIL import Image

from engine.models.card import CARDS
from engine.race import Lane, Race
from engine.race.request import parse_lane
from engine.trace import Frame, Header, LaneState, Trace
from engine.trace.steps import DTYPES, SENT
from tests.toy import Toy
from tests.visualize.races import frame, made_up, photograph, pixels, run, step, toy_race
from visualize.board import NO_MEMORY, NO_PICTURES, Board, changed_sampling, replay, token_hash
from visualize.recorded_race import RecordedRace, record
from visualize.swatches import sheet


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
    return Board(race.header, pixels)


def picture(lane: dict[str, Any]) -> np.ndarray:
    """A lane's picture rows, one under the other."""
    files = [
        Image.open(io.BytesIO(base64.b64decode(text))) for text in lane["picture_rows"] if text
    ]
    return np.concatenate([np.asarray(file.convert("RGB")) for file in files])


@pytest.fixture(scope="module")
def race() -> tuple[Header, list[Frame]]:
    return run()


def test_columns_only_grow(race) -> None:
    shots = snapshots(*race)
    for before, after in itertools.pairwise(shots):
        for old, new in zip(before["lanes"], after["lanes"], strict=True):
            assert all(new["table"][name].startswith(old["table"][name]) for name in SENT)
    header, frames = race
    for i, lane in enumerate(shots[-1]["lanes"]):
        rows = Trace(header, tuple(frames)).table(i).arrays()
        assert lane["table"] == {
            name: base64.b64encode(rows[name].tobytes()).decode() for name in SENT
        }
        assert lane["table"]["steps"]
        assert lane["table"]["positions"]
        assert bool(lane["table"]["groups"]) == (lane["decoder"] in ("gsd", "lantern"))
        assert bool(lane["table"]["candidates"]) == (lane["decoder"] == "sjd-pac")


def test_a_snapshot_names_the_race(race) -> None:
    header, frames = race
    shot = Board(header, pixels, b"image").snapshot()
    assert (shot["seq"], shot["state"], shot["recorded"], shot["grid"], shot["codes"]) == (
        0,
        "waiting",
        False,
        [8, 8],
        16,
    )
    assert (shot["prompt"], shot["seed"], shot["model"]) == ("a prompt", 7, "toy")
    assert base64.b64decode(shot["swatches"]) == b"image"
    shots = snapshots(header, frames)
    assert [shot["seq"] for shot in shots] == list(range(len(shots)))
    assert shots[-1]["state"] == "finished"
    assert [lane["n"] for lane in shots[-1]["lanes"]] == [64] * 5
    for i, lane in enumerate(shots[-1]["lanes"]):
        steps = [f.step for f in frames if f.lane == i and f.step]
        assert (
            lane["passes"] == steps[-1].nfe == len(base64.b64decode(lane["table"]["steps"])) // 30
        )
        assert lane["seconds"] == pytest.approx(sum(s.seconds.total for s in steps), abs=1e-3)
        assert lane["drafter"] == sum(s.drafter_passes for s in steps)


def test_finished_pictures_travel_without_loss(race) -> None:
    header, frames = race
    for i, lane in enumerate(snapshots(header, frames)[-1]["lanes"]):
        table = Trace(header, tuple(frames)).table(i)
        tokens = table.positions["token"][table.committed].astype(int)
        np.testing.assert_array_equal(picture(lane), pixels(tokens.reshape(1, *header.grid))[0])


@pytest.mark.parametrize(("forced", "end"), [(False, None), (True, None), (False, 40)])
def test_a_recorded_race_is_what_was_seen_live(forced, end) -> None:
    running = toy_race(side=6, forced=forced)
    frames = []
    for i, move in enumerate(running):
        frames.append(move)
        if i == end:
            running.stop()
    board = Board(running.header, running.model.pixels, sheet(running.model))
    for move in frames:
        board.fold(move)
        board.snapshot()
    live = board.snapshot()
    assert live["state"] == ("finished" if end is None else "stopped")
    recording = RecordedRace.loads(record(running.trace(frames), running.model).dumps())
    again = replay(recording)
    assert again.pop("recorded")
    assert not live.pop("recorded")
    assert again | {"seq": live["seq"]} == live


def test_a_race_without_pictures_says_so(race) -> None:
    header, frames = race
    shot = replay(RecordedRace(Trace(header, tuple(frames)), None))
    assert shot["note"] == NO_PICTURES
    assert shot["swatches"] == ""
    assert [lane["picture_rows"] for lane in shot["lanes"]] == [[""] * 8] * 5
    assert [lane["table"] for lane in shot["lanes"]] == [
        lane["table"] for lane in snapshots(header, frames)[-1]["lanes"]
    ]


def test_pictures_of_all_changed_lanes_are_decoded_in_one_call() -> None:
    calls = []

    def counted(tokens: np.ndarray) -> np.ndarray:
        calls.append(tokens.shape)
        return pixels(tokens)

    board = Board(small("ar", "sjd", "gsd").header, counted)
    for lane in (0, 2):
        board.fold(frame(lane, step(0, 1), 4))
    board.snapshot()
    board.snapshot()
    assert calls == [(2, 2, 2)]


def test_forced_positions_have_no_cell() -> None:
    header, frames = run(("ar", "sjd"), side=4, forced=True)
    shot = snapshots(header, frames)[-1]
    assert len(header.cells) == 20
    assert shot["cells"] == list(header.cells)
    for lane in shot["lanes"]:
        assert lane["n"] == 16
        steps = np.frombuffer(base64.b64decode(lane["table"]["steps"]), DTYPES["steps"])
        assert steps["committed"].sum() == 20


@pytest.mark.parametrize("forced", [False, True])
def test_cells_may_be_filled_in_any_order(forced) -> None:
    """The same race with a header of another order: each picture holds each token at its cell."""
    header, frames = run(("ar", "sjd"), side=4, forced=forced)
    order = np.random.default_rng(1).permutation(16)
    cells = tuple(int(order[cell]) if cell >= 0 else -1 for cell in header.cells)
    board = Board(replace(header, cells=cells), pixels)
    for i, move in enumerate(frames):
        board.fold(move)
        if i % 3 == 0:
            board.snapshot()
    plain, shot = snapshots(header, frames)[-1], board.snapshot()
    assert shot["cells"] == list(cells)
    for old, new in zip(plain["lanes"], shot["lanes"], strict=True):
        patches = picture(old).reshape(4, 8, 4, 8, 3).swapaxes(1, 2).reshape(16, 8, 8, 3)
        moved = picture(new).reshape(4, 8, 4, 8, 3).swapaxes(1, 2).reshape(16, 8, 8, 3)
        np.testing.assert_array_equal(moved[order], patches)
        assert new["table"] == old["table"]


def test_drafts_are_not_in_the_picture() -> None:
    board = small("sjd")
    board.fold(frame(0, step(0, 1, drafts=2), 4))
    lane = board.snapshot()["lanes"][0]
    assert (lane["n"], len(base64.b64decode(lane["table"]["positions"]))) == (1, 3 * 57)
    assert lane["picture_rows"][0]
    assert lane["picture_rows"][1] == ""
    board.fold(Frame(0, LaneState.STOPPED))
    snapshot = board.snapshot()
    assert snapshot["state"] == "stopped"
    assert snapshot["lanes"][0]["picture_rows"][1] == ""


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
        assert found == {0: None, 1: differs, 2: None}, (
            "only who promises vanilla AR's picture is held to it"
        )


def test_a_failed_lane_says_why_and_the_others_finish() -> None:
    board = small("ar", "sjd")
    board.fold(frame(0, step(0, 4), 4))
    board.fold(Frame(1, LaneState.FAILED, error="out of memory"))
    snapshot = board.snapshot()
    assert snapshot["state"] == "finished"
    assert snapshot["lanes"][1]["error"] == "out of memory"
    assert [row["lane"] for row in snapshot["results"]] == [0]


@pytest.mark.parametrize(("side", "patch", "most"), [(16, 8, 25_000), (48, 16, 60_000)])
def test_five_lanes_travel_in_few_bytes_an_update(side, patch, most) -> None:
    """Five steps of each lane an update, at the papers' settings, with everything there is to know
    of every position."""
    header, lanes = made_up(side)
    board = Board(header, photograph(side, patch))
    last, sent = board.snapshot(), []
    for start in range(0, max(map(len, lanes)), 5):
        for i, steps in enumerate(lanes):
            for made in steps[start : start + 5]:
                board.fold(frame(i, made, side * side))
        now = board.snapshot()
        sent.append(len(json.dumps(diff(last, now), separators=(",", ":"))))
        last = now
    together = min(map(len, lanes)) // 5
    print(
        f"{side} x {side}: {np.mean(sent) / 1000:.1f} kB an update,"
        f" {np.mean(sent[:together]) / 1000:.1f} while all race, most {max(sent) / 1000:.0f},"
        f" {len(json.dumps(last)) / 1e6:.2f} MB in all"
    )
    assert last["state"] == "finished"
    assert np.mean(sent) < most


def test_token_hash_is_fnv_1a() -> None:
    assert token_hash([]) == "811c9dc5"
    assert token_hash([0x6F6F66, 0x726162]) == f"{_fnv(b'foo' + bytes(1) + b'bar' + bytes(1)):08x}"


def _fnv(data: bytes) -> int:
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 16777619) % 2**32
    return value


def test_lanes_have_names_that_say_what_differs() -> None:
    model = Toy((4, 4), 16)
    lanes = [parse_lane(text) for text in ("gsd", "gsd:G=50", "ar", "ar")]
    race = Race(model, lanes, "a prompt", 7)
    live = Board(race.header, model.pixels)
    replayed = replay(record(race.trace(list(race)), model))
    for shot in (live.snapshot(), replayed):
        titles = [lane["title"] for lane in shot["lanes"]]
        assert titles == ["GSD", "GSD G=50", "Vanilla AR (3)", "Vanilla AR (4)"]


def test_sampling_is_said_where_it_is_not_the_models_own() -> None:
    header = Race(Toy((2, 2), 16), [Lane("ar")], "a prompt", 1).header
    own = replace(header, model="embedded", sampling=CARDS["embedded"].sampling)
    assert changed_sampling(own) == ""
    other = replace(own.sampling, guidance=3.0, top_k=100)
    assert changed_sampling(replace(own, sampling=other)) == "guidance 3, top-k 100"
    assert changed_sampling(replace(header, model="unknown")) == ""


def test_pictures_that_do_not_fit_leave_the_race_alone() -> None:
    left = [2]

    def scarce(tokens: np.ndarray) -> np.ndarray:
        left[0] -= 1
        if not left[0]:
            raise MemoryError
        return pixels(tokens)

    race = Race(Toy((2, 2), 16), [Lane("ar"), Lane("sjd")], "a prompt", 1)
    board, notes = Board(race.header, scarce), []
    for move in race:
        board.fold(move)
        notes.append(board.snapshot()["note"])
    assert notes.count(NO_MEMORY) == len(notes) - notes.index(NO_MEMORY) > 1
    last = board.snapshot()
    assert [lane["state"] for lane in last["lanes"]] == ["finished"] * 2
    assert all(any(lane["picture_rows"]) for lane in last["lanes"])
