"""Mean colours of things are those of their own pixels, of grounds those of what is drawn."""

from train.colours import mean_colours
from train.paint import RGB
from train.scenes import vocabulary


def test_mean_colours() -> None:
    found = mean_colours()
    things, grounds, _ = vocabulary()
    assert set(found) == {*things, *grounds}
    assert all(0 <= part <= 255 for colour in found.values() for part in colour)
    for name, colour in RGB.items():
        assert found[name] == list(colour)
    red, green, blue = found["red heart"]  # red without the ground that shows around it
    assert red > 180
    assert max(green, blue) < 80
    red, green, blue = found["green grass"]
    assert green > max(red, blue) + 20
