from __future__ import annotations

import base64
import io
import itertools
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from app.races.event_stream import EventStream
from engine.decoders.base import Badge
from engine.models import load
from engine.models.supply.card import CARDS
from engine.trace import Frame, Header, LaneState, Step, Trace
from engine.trace.rows import DTYPES, SENT
from tests.races import race_of, raced
from tests.stopped import run_until
from tests.visualize.races import FIVE, ROWS, frame, pixels, run, snapshots, step, toy_race
from tools.judge.toys import Toy
from visualize.board.board import (
    LEAST_PATCHES,
    NO_MEMORY,
    NO_PICTURES,
    Board,
    changed_sampling,
    replay,
    token_hash,
)
from visualize.board.lane import PROMISES
from visualize.board.snapshot import LaneSnapshot, Snapshot
from visualize.pictures.picture import webp
from visualize.pictures.recorded_race import RecordedRace, record
from visualize.pictures.swatches import COLUMNS, sheet
from visualize.record_races import RACES


def small(*names: str, frames: list[tuple[int, Step]] = (), dtype: str = "float32") -> Board:
    """A board of 2 x 2 tokens into which steps of lanes were folded."""
    board = Board(replace(race_of(Toy((2, 2), 16), names).header, dtype=dtype), pixels)
    for lane, made in frames:
        board.fold(frame(lane, made, 4))
    return board


def test_where_decoding_takes_seconds_a_lane_has_its_picture_at_its_end() -> None:
    race = toy_race(["ar", "sjd"])
    board = Board(race.header, pixels)
    for move in race:
        board.fold(move)
        assert board.update().patches == ""
        for lane in board.snapshot().lanes:
            assert bool(lane.picture) == (lane.state == "finished")
    assert board.is_over


def image(text: str) -> np.ndarray:
    with Image.open(io.BytesIO(base64.b64decode(text))) as file:
        return np.asarray(file.convert("RGB"))


def sent(tokens: np.ndarray) -> np.ndarray:
    """The pictures that `pixels` decodes, as they are sent: without the last bit."""
    return pixels(tokens) // 2 * 2


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
        np.testing.assert_array_equal(image(lane.picture), sent(tokens)[0])


@pytest.mark.parametrize(("forced", "end"), [(False, None), (True, None), (False, 40)])
def test_a_recorded_race_is_what_was_seen_live(forced, end) -> None:
    running = toy_race((*FIVE, ROWS[0]), side=6, forced=forced)
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
    assert [lane.picture for lane in shot.lanes] == [""] * 5
    assert [lane.table for lane in shot.lanes] == [lane.table for lane in shots[-1].lanes]


def test_pictures_of_all_changed_lanes_are_decoded_in_one_call() -> None:
    calls = []

    def counted(tokens: np.ndarray) -> np.ndarray:
        calls.append(tokens.shape)
        return pixels(tokens)

    board = Board(small("ar", "sjd", "gsd").header, counted)
    for lane in (0, 2):
        board.fold(frame(lane, step(0, 4), 4))
    board.update()
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
            image(lane.picture).reshape(4, 8, 4, 8, 3).swapaxes(1, 2).reshape(16, 8, 8, 3)
            for lane in (old, new)
        )
        np.testing.assert_array_equal(new_patches[order], old_patches)
        assert new.table == old.table
        assert new.n == 16
        assert rows(new, "steps")["committed"].sum() == len(cells) == (20 if forced else 16)


def test_drafts_are_not_in_the_picture() -> None:
    """Nor are they where a lane stops: its picture is decoded from what is committed."""
    grids = []

    def seen(tokens: np.ndarray) -> np.ndarray:
        grids.extend(tokens.tolist())
        return pixels(tokens)

    board = Board(small("sjd").header, seen)
    board.fold(frame(0, step(0, 1, drafts=2, token=3), 4))
    lane = board.snapshot().lanes[0]
    assert (lane.n, len(rows(lane, "positions"))) == (1, 3)
    board.fold(Frame(0, LaneState.STOPPED))
    stopped = board.update()
    assert stopped.state == "stopped"
    np.testing.assert_array_equal(
        image(stopped.lanes[0].picture)[:8, :8], sent(np.array([[[3]]]))[0]
    )
    assert len(grids) == 1


@pytest.mark.parametrize("forced", [False, True])
def test_where_rows_advance_each_at_its_own_pace_tokens_stand_where_the_steps_say(forced) -> None:
    header, frames = run(ROWS, side=6, forced=forced)
    cells, board = np.array(header.cells), Board(header, pixels)
    committed = np.full((3, 36), -1)
    for move in frames:
        board.fold(move)
        lane = board.snapshot().lanes[move.lane]
        now = committed[move.lane]
        if move.step is not None:
            table = move.step.rows
            found, tokens = cells[table.position], table.positions["token"]
            now[found[table.committed & (found >= 0)]] = tokens[table.committed & (found >= 0)]
            expected = now.copy()
            standing = ~table.committed & (found >= 0)
            expected[found[standing]] = tokens[standing]
            np.testing.assert_array_equal(board._lanes[move.lane].tokens, expected)
        assert lane.n == (now >= 0).sum()
        assert (lane.shift is None) == (lane.state != "finished")
    assert (committed >= 0).all()


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


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("token", "equal", "differs"), [(3, 4, None), (5, 2, 2)])
def test_only_who_promises_vanilla_ars_picture_is_held_to_it(token, equal, differs, dtype) -> None:
    fpi = [(1, step(0, 2)), (1, step(2, 4, token=token, nfe=2))]
    frames = [(0, step(0, 4)), *fpi, (2, step(0, 4, token=9))]
    board = small("ar", "fpi", "sjd", frames=frames, dtype=dtype)
    found = {row.lane: (row.equal, row.differs) for row in board.snapshot().results}
    assert found == {0: (None, None), 1: (equal, differs), 2: (None, None)}


@pytest.mark.parametrize(
    ("dtype", "badge"),
    [
        ("", Badge.IDENTICAL),  # an older trace
        ("float32", Badge.IDENTICAL),
        ("float64", Badge.IDENTICAL),
        ("float16", Badge.ROUNDED),
        ("bfloat16", Badge.ROUNDED),
    ],
)
def test_in_half_precision_vanilla_ars_lane_alone_promises_its_very_picture(dtype, badge) -> None:
    ar, fpi, sjd = small("ar", "fpi", "sjd", dtype=dtype).snapshot().lanes
    assert [lane.badge for lane in (ar, fpi, sjd)] == [
        Badge.IDENTICAL,
        badge,
        Badge.SAME_DISTRIBUTION,
    ]
    assert fpi.promise == PROMISES[badge]


def test_a_failed_lane_says_why_and_the_others_finish() -> None:
    board = small("ar", "sjd", frames=[(0, step(0, 4))])
    board.fold(Frame(1, LaneState.FAILED, error="out of memory"))
    snapshot = board.snapshot()
    assert snapshot.state == "finished"
    assert snapshot.lanes[1].error == "out of memory"
    assert [row.lane for row in snapshot.results] == [0]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("every", [1, 3, 1000])
def test_updates_add_up_to_the_snapshot(monkeypatch, forced, every) -> None:
    """However often the board is looked at; and each cell's patch is that of its token."""
    monkeypatch.setattr("visualize.board.board.webp", lambda picture, _: webp(picture, None))
    header, frames = run((*FIVE, *ROWS), side=8, forced=forced)
    board, alone = Board(header, pixels, preview=pixels), Board(header, pixels)
    shown, updates = board.snapshot(), []
    for i, move in enumerate(frames, 1):
        board.fold(move)
        alone.fold(move)
        if i % every == 0 or i == len(frames):
            updates.append(board.update())
            shown = shown.after(updates[-1])
    seq = {"seq": shown.seq}
    assert shown == alone.snapshot().model_copy(update=seq)
    assert [update.seq for update in updates] == list(range(1, len(updates) + 1))
    assert board.update().lanes == ()
    trace, times = Trace(header, tuple(frames)), np.zeros((8, 64), int)
    for update in updates:
        drawn = [(lane.lane, cell) for lane in update.lanes for cell in lane.cells]
        assert bool(drawn) is bool(update.patches)
        assert len(drawn) >= LEAST_PATCHES or not drawn
        for i, (lane, cell) in enumerate(drawn):
            left, top = 8 * (i % COLUMNS), 8 * (i // COLUMNS)
            patch = image(update.patches)[top : top + 8, left : left + 8]
            token = trace.tokens(lane)[cell : cell + 1].reshape(1, 1, 1)
            np.testing.assert_array_equal(patch, pixels(token)[0])
            times[lane, cell] += 1
    assert times.max() <= 2


def test_seven_lanes_take_a_megabyte_on_a_slow_machine_as_on_a_fast_one() -> None:
    """400 tokens each, with the figures of a race that ships: looked at after every step, and as
    often as a fast machine has time to."""
    trace = RecordedRace.loads((RACES / "tour.json").read_bytes()).trace
    model = load("embedded")
    seven = [i for i, lane in enumerate(trace.header.lanes) if lane.decoder != "jacobi"][:7]
    header = replace(trace.header, lanes=tuple(trace.header.lanes[i] for i in seven))
    frames = [
        replace(move, lane=seven.index(move.lane)) for move in trace.frames if move.lane in seven
    ]

    def bytes_of(every: int) -> int:
        board, events = Board(header, model.pixels, sheet(model), model.preview), EventStream()
        events.add("snapshot", 0, board.snapshot())
        for i, move in enumerate(frames, 1):
            board.fold(move)
            if i % every == 0 or i == len(frames):
                events.add("update", i, board.update())
        events.close()
        return sum(map(len, events.chunks))

    slow, fast = bytes_of(1), bytes_of(20)
    assert len(header.cells) == 400
    assert fast < slow < 2**20
    assert slow < 1.2 * fast


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


def test_a_lane_has_what_a_paper_says_of_it_for_the_papers_model_and_sampling() -> None:
    header = race_of(Toy((2, 2), 16), ["gsd", "scd", "sjd-pac"]).header
    lumina = replace(header, model="lumina-768", sampling=CARDS["lumina-768"].sampling)
    mark, none, other = (lane.published for lane in Board(lumina, pixels).snapshot().lanes)
    assert none is None
    assert other.words == "4.51 a pass"
    assert mark.words == "701.35 passes"
    assert mark.source == "arXiv 2508.07747, Table 1: MS-COCO 2017, top-k 2000"
    colder = replace(lumina, sampling=replace(lumina.sampling, temperature=0.5))
    embedded = replace(header, model="embedded", sampling=CARDS["embedded"].sampling)
    for other in (colder, embedded):
        assert Board(other, pixels).snapshot().lanes[0].published is None


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
        notes.append(board.update().note)
    assert notes[-1] == NO_MEMORY
    last = board.snapshot()
    assert [lane.state for lane in last.lanes] == ["finished"] * 2
    assert all(lane.picture for lane in last.lanes)
