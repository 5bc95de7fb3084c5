from __future__ import annotations

import base64
import io
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from gradio.utils import diff
from PIL import Image

from engine.models.card import CARDS
from engine.trace import Frame, Header, LaneState, Step, Trace
from engine.trace.rows import DTYPES, SENT
from tests.races import race_of, raced
from tests.stopped import run_until
from tests.toy import Toy
from tests.visualize.races import FIVE, frame, pixels, run, snapshots, step, toy_race
from visualize.board import NO_MEMORY, NO_PICTURES, Board, changed_sampling, replay, token_hash
from visualize.record_races import RACES
from visualize.recorded_race import RecordedRace, record
from visualize.recorded_race import pixels as decoded
from visualize.snapshot import LaneSnapshot, Snapshot
from visualize.swatches import sheet


def small(*names: str, frames: list[tuple[int, Step]] = ()) -> Board:
    """A board of 2 x 2 tokens into which steps of lanes were folded."""
    board = Board(race_of(Toy((2, 2), 16), names).header, pixels)
    for lane, made in frames:
        board.fold(frame(lane, made, 4))
    return board


def test_where_decoding_takes_seconds_a_lane_has_its_picture_at_its_end() -> None:
    race = toy_race(["ar", "sjd"])
    board = Board(race.header, pixels, live=False)
    for move in race:
        board.fold(move)
        for lane in board.snapshot().lanes:
            assert any(lane.picture_rows) == (lane.state == "finished")
    assert board.snapshot().state == "finished"


def picture(lane: LaneSnapshot) -> np.ndarray:
    """A lane's picture rows, one under the other."""
    files = [Image.open(io.BytesIO(base64.b64decode(text))) for text in lane.picture_rows if text]
    return np.concatenate([np.asarray(file.convert("RGB")) for file in files])


def rows(lane: LaneSnapshot, name: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(lane.table[name]), DTYPES[name])


@pytest.fixture(scope="module")
def race() -> tuple[Header, list[Frame]]:
    return run()


@pytest.fixture(scope="module")
def shots(race) -> list[Snapshot]:
    return snapshots(*race)


def test_columns_only_grow(race, shots) -> None:
    for before, after in itertools.pairwise(shots):
        for old, new in zip(before.lanes, after.lanes, strict=True):
            assert all(new.table[name].startswith(old.table[name]) for name in SENT)
    header, frames = race
    for i, lane in enumerate(shots[-1].lanes):
        table = Trace(header, tuple(frames)).table(i).arrays()
        assert lane.table == {
            name: base64.b64encode(table[name].tobytes()).decode() for name in SENT
        }
        assert bool(lane.table["groups"]) == (lane.decoder in ("gsd", "lantern"))
        assert bool(lane.table["candidates"]) == (lane.decoder == "sjd-pac")


def test_a_snapshot_has_the_race_and_its_lanes_figures_and_pictures(race, shots) -> None:
    header, frames = race
    shot = Board(header, pixels, b"image").snapshot()
    expected = {
        **{"seq": 0, "state": "waiting", "recorded": False, "grid": [8, 8], "codes": 16},
        **{"prompt": "a prompt", "seed": 7, "model": "toy"},
        "swatches": base64.b64encode(b"image").decode(),
    }
    assert {name: shot.wire()[name] for name in expected} == expected
    assert [shot.seq for shot in shots] == list(range(len(shots)))
    assert shots[-1].state == "finished"
    for i, lane in enumerate(shots[-1].lanes):
        steps = [f.step for f in frames if f.lane == i and f.step]
        assert lane.n == 64
        assert lane.passes == steps[-1].nfe == len(rows(lane, "steps"))
        assert lane.seconds == pytest.approx(sum(s.seconds.total for s in steps), abs=1e-3)
        assert lane.drafter == sum(s.drafter_passes for s in steps)
        tokens = Trace(header, tuple(frames)).tokens(i).reshape(1, *header.grid)
        np.testing.assert_array_equal(picture(lane), pixels(tokens)[0])


@pytest.mark.parametrize(("forced", "end"), [(False, None), (True, None), (False, 40)])
def test_a_recorded_race_is_what_was_seen_live(forced, end) -> None:
    running = toy_race(side=6, forced=forced)
    trace = run_until(running, end)
    board = Board(running.header, running.model.pixels, sheet(running.model))
    for move in trace.frames:
        board.fold(move)
        live = board.snapshot()
    assert live.state == ("finished" if end is None else "stopped")
    again = replay(RecordedRace.loads(record(trace, running.model).dumps()))
    assert (again.recorded, live.recorded) == (True, False)
    assert again.model_copy(update={"seq": live.seq, "recorded": False}) == live


def test_a_race_without_pictures_says_so(race, shots) -> None:
    header, frames = race
    shot = replay(RecordedRace(Trace(header, tuple(frames)), None))
    assert shot.note == NO_PICTURES
    assert shot.swatches == ""
    assert [lane.picture_rows for lane in shot.lanes] == [("",) * 8] * 5
    assert [lane.table for lane in shot.lanes] == [lane.table for lane in shots[-1].lanes]


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


@pytest.mark.parametrize("forced", [False, True])
def test_cells_may_be_filled_in_any_order(forced) -> None:
    """The same race with a header of another order: each picture holds each token at its cell, and
    forced positions have none."""
    header, frames = run(("ar", "sjd"), side=4, forced=forced)
    order = np.random.default_rng(1).permutation(16)
    cells = tuple(int(order[cell]) if cell >= 0 else -1 for cell in header.cells)
    plain = snapshots(header, frames)[-1]
    shot = snapshots(replace(header, cells=cells), frames, 3)[-1]
    assert (plain.cells, shot.cells) == (header.cells, cells)
    for old, new in zip(plain.lanes, shot.lanes, strict=True):
        old_patches, new_patches = (
            picture(lane).reshape(4, 8, 4, 8, 3).swapaxes(1, 2).reshape(16, 8, 8, 3)
            for lane in (old, new)
        )
        np.testing.assert_array_equal(new_patches[order], old_patches)
        assert new.table == old.table
        assert new.n == 16
        assert rows(new, "steps")["committed"].sum() == len(cells) == (20 if forced else 16)


def test_drafts_are_not_in_the_picture() -> None:
    board = small("sjd", frames=[(0, step(0, 1, drafts=2))])
    lane = board.snapshot().lanes[0]
    assert (lane.n, len(rows(lane, "positions"))) == (1, 3)
    assert [bool(row) for row in lane.picture_rows] == [True, False]
    board.fold(Frame(0, LaneState.STOPPED))
    assert board.snapshot().state == "stopped"
    assert board.snapshot().lanes[0].picture_rows[1] == ""


def test_places_wait_for_lanes_that_could_still_come_in_before_and_ties_share_one() -> None:
    first = [(0, step(0, 2, seconds=1.0)), (1, step(0, 4, seconds=3.0))]
    board = small("ar", "sjd", frames=first)
    assert board.snapshot().lanes[1].places == {"seconds": None, "passes": 1}
    board.fold(frame(0, step(2, 4, seconds=1.0, nfe=2), 4))
    assert [lane.places for lane in board.snapshot().lanes] == [
        {"seconds": 1, "passes": 2},
        {"seconds": 2, "passes": 1},
    ]
    lanes = [(lane, step(0, 4, seconds=seconds)) for lane, seconds in enumerate((1.0, 1.0, 2.0))]
    board = small("ar", "sjd", "gsd", frames=lanes)
    assert [lane.places["seconds"] for lane in board.snapshot().lanes] == [1, 1, 3]


def test_results_compare_with_vanilla_ar_in_both_clocks() -> None:
    board = small("ar", "sjd", frames=[(0, step(i, i + 1, nfe=i + 1)) for i in range(4)])
    assert board.snapshot().results == ()
    for i in range(2):
        board.fold(frame(1, step(2 * i, 2 * i + 2, seconds=1.6, nfe=i + 1), 4))
    sjd, ar = board.snapshot().results
    assert (sjd.lane, sjd.compression, sjd.length, sjd.passes) == (1, 2.0, 2.0, 2)
    assert sjd.faster == {"seconds": 1.25, "passes": 2.0}
    assert ar.faster == {"seconds": 1.0, "passes": 1.0}


@pytest.mark.parametrize(("token", "differs"), [(3, None), (5, 2)])
def test_only_who_promises_vanilla_ars_picture_is_held_to_it(token, differs) -> None:
    fpi = [(1, step(0, 2)), (1, step(2, 4, token=token, nfe=2))]
    board = small("ar", "fpi", "sjd", frames=[(0, step(0, 4)), *fpi, (2, step(0, 4, token=9))])
    found = {row.lane: row.differs for row in board.snapshot().results}
    assert found == {0: None, 1: differs, 2: None}


def test_a_failed_lane_says_why_and_the_others_finish() -> None:
    board = small("ar", "sjd", frames=[(0, step(0, 4))])
    board.fold(Frame(1, LaneState.FAILED, error="out of memory"))
    snapshot = board.snapshot()
    assert snapshot.state == "finished"
    assert snapshot.lanes[1].error == "out of memory"
    assert [row.lane for row in snapshot.results] == [0]


@pytest.mark.parametrize(
    ("side", "patch", "times", "most"), [(20, 8, 1, 25_000), (48, 16, 2, 28_000)]
)
def test_five_lanes_travel_in_few_bytes_an_update(side, patch, times, most) -> None:
    """Five steps of each lane an update, with the rows of a race that ships; on the large grid it
    is raced twice, one picture after another, which fills the upper rows."""
    recording = RecordedRace.loads((RACES / "animals.json").read_bytes())
    picture, trace = decoded(recording.pictures.lanes[0]), recording.trace
    around = side * patch - len(picture)
    whole = np.pad(picture, ((0, around), (0, around), (0, 0)), "wrap")

    def photograph(tokens: np.ndarray) -> np.ndarray:
        """Each patch a little brighter or darker by its token and by its neighbours', as a
        convolutional decoder makes them; modulo 256, where darker comes out right."""
        shift = tokens % 23 - 11
        shift = shift + (np.roll(shift, 1, -1) + np.roll(shift, -1, -1)) // 4
        light = shift.astype(np.uint8).repeat(patch, 1).repeat(patch, 2)
        return (whole // 2 + 64) + light[..., None]

    length, names = len(trace.header.cells), [lane.decoder for lane in trace.header.lanes]
    shown = [names.index(name) for name in FIVE]
    plain = tuple(trace.header.lanes[i] for i in shown)
    header = replace(trace.header, grid=(side, side), cells=tuple(range(side**2)), lanes=plain)
    lanes = [
        [
            Step(replace(each.rows, start=each.before + length * i))
            for i in range(times)
            for each in trace.steps(lane)
        ]
        for lane in shown
    ]
    board = Board(header, photograph)
    last, sent = board.snapshot(), []
    for start in range(0, max(map(len, lanes)), 5):
        for i, steps in enumerate(lanes):
            for made in steps[start : start + 5]:
                board.fold(frame(i, made, side**2))
        now = board.snapshot()
        sent.append(len(json.dumps(diff(last.wire(), now.wire()), separators=(",", ":"))))
        last = now
    assert [lane.n for lane in last.lanes] == [length * times] * 5
    assert np.mean(sent) < most


def test_token_hash_is_fnv_1a() -> None:
    value = 2166136261
    for byte in b"foo\0bar\0":
        value = ((value ^ byte) * 16777619) % 2**32
    assert token_hash([]) == "811c9dc5"
    assert token_hash([0x6F6F66, 0x726162]) == f"{value:08x}"


def test_lanes_have_names_that_say_what_differs() -> None:
    trace = raced(model := Toy((4, 4), 16), ("gsd", "gsd:G=50", "ar", "ar"))
    live = Board(trace.header, model.pixels).snapshot()
    for shot in (live, replay(record(trace, model))):
        titles = [lane.title for lane in shot.lanes]
        assert titles == ["GSD", "GSD G=50", "Vanilla AR (3)", "Vanilla AR (4)"]


def test_sampling_is_said_where_it_is_not_the_models_own() -> None:
    header = race_of(Toy((2, 2), 16), ["ar"]).header
    own = replace(header, model="embedded", sampling=CARDS["embedded"].sampling)
    assert changed_sampling(own) == ""
    other = replace(own.sampling, guidance=3.0, guided_tokens=64, top_k=100)
    said = changed_sampling(replace(own, sampling=other))
    assert said == "guidance 3, guided tokens 64, top-k 100"
    assert changed_sampling(replace(header, model="unknown")) == ""


def test_pictures_that_do_not_fit_leave_the_race_alone() -> None:
    left = [2]

    def scarce(tokens: np.ndarray) -> np.ndarray:
        left[0] -= 1
        if not left[0]:
            raise MemoryError
        return pixels(tokens)

    race = race_of(Toy((2, 2), 16), ["ar", "sjd"])
    board, notes = Board(race.header, scarce), []
    for move in race:
        board.fold(move)
        notes.append(board.snapshot().note)
    assert notes.count(NO_MEMORY) == len(notes) - notes.index(NO_MEMORY) > 1
    last = board.snapshot()
    assert [lane.state for lane in last.lanes] == ["finished"] * 2
    assert all(any(lane.picture_rows) for lane in last.lanes)
