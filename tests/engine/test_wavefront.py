"""The order in which several rows are drawn at once, and the windows that draw it."""

from __future__ import annotations

import pytest

from engine.wavefront import Wavefront

CASES = [(3, 4, 1), (3, 4, 2), (3, 4, 4), (4, 6, 3), (1, 5, 2), (5, 1, 1), (16, 16, 4)]


@pytest.mark.parametrize(
    ("height", "width", "lag", "waves"),
    [(16, 16, 1, 31), (16, 16, 4, 76), (16, 16, 16, 256), (24, 24, 1, 47), (3, 5, 2, 9)],
)
def test_a_picture_takes_w_plus_h_minus_1_times_s_waves(
    height: int, width: int, lag: int, waves: int
) -> None:
    assert len(Wavefront(height * width, width, lag).ends) == waves == width + (height - 1) * lag


@pytest.mark.parametrize(("height", "width", "lag", "waves"), [(20, 20, 4, 112), (5, 4, 1, 11)])
def test_with_the_first_row_alone_it_takes_2w_plus_h_minus_2_times_s_waves(
    height: int, width: int, lag: int, waves: int
) -> None:
    front = Wavefront(height * width, width, lag, alone=True)
    assert len(front.ends) == waves == 2 * width + (height - 2) * lag
    assert front.order[: width + 1] == tuple(range(width + 1))
    assert front.ends[: width + 1] == tuple(range(1, width + 2))


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("height", "width", "lag"), CASES)
def test_each_position_is_drawn_once_and_behind_its_left_neighbour(
    height: int, width: int, lag: int, alone: bool
) -> None:
    front = Wavefront(height * width, width, lag, alone)
    assert sorted(front.order) == list(range(height * width))
    wave = {}
    for t, (first, end) in enumerate(zip((0, *front.ends), front.ends, strict=False)):
        wave |= dict.fromkeys(front.order[first:end], t)
    for at, t in wave.items():
        if at % width:
            assert t == wave[at - 1] + 1
        elif at:
            # the row above has `lag` tokens then, or the first one all
            assert t == wave[at - width] + (width if alone and at == width else lag)
    assert (front.order == tuple(range(height * width))) == (lag >= width or height == 1)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("height", "width", "lag"), CASES)
def test_a_window_feeds_the_wave_before_and_a_stand_in_for_a_row_that_begins(
    height: int, width: int, lag: int, alone: bool
) -> None:
    front = Wavefront(height * width, width, lag, alone)
    windows, starts = front.windows, (0, *front.ends)
    for t, (rows, drawn) in enumerate(zip(windows.rows, windows.drawn, strict=True)):
        before = list(range(starts[t - 1], starts[t])) if t else [-1]
        place, code = windows.place[t, :rows].tolist(), windows.code[t, :rows].tolist()
        assert place[: len(before)] == before
        wave = range(starts[t], starts[t + 1])
        assert drawn == len(wave)
        for n, source in zip(wave, windows.source[t], strict=False):
            assert windows.asked[t, source] == n
            stands = front.order[place[source]] if place[source] >= 0 else -1
            assert stands == front.order[n] - 1, "it stands right before what it asks for"
        begun = front.order[wave[-1]]
        begins = t > 0 and begun % width == 0 and begun - 1 in front.order[starts[t] :]
        assert rows == len(before) + begins
        if begins:
            newest = max(at for at in front.order[: starts[t]] if at // width == begun // width - 1)
            assert (front.order[code[-1]], code[:-1]) == (newest, [max(0, n) for n in before])
        else:
            assert code == [max(0, n) for n in before]
        assert (windows.asked[t, rows:] == height * width).all()
