"""What visitors do, and what they wait for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import Locator, Page, TimeoutError, expect

from engine.decoders import DECODERS
from visualize.film.layers import Layer

# A browser whose visitor has looked inside: all controls are shown, as they are in a file at once.
# A file's storage is left alone: read so early, Chromium loses what was kept just before a reload.
INSIDE = "if (location.protocol === 'http:') localStorage['photo-finish-inside'] = '1';"
# Gradio takes a message away after ten seconds. Between two looks at it a machine may stand still
# for longer, so here it stays until it is closed. No other timer of the page has these 10,000 ms.
LASTING = """{
  const later = window.setTimeout;
  window.setTimeout = (act, ms, ...rest) => (ms === 10000 ? 0 : later(act, ms, ...rest));
}"""
PATIENCE = 120_000  # ms: a shared machine may be slow; nothing waits longer than it must
# Parts that reach over the edge of the stage or of their lane, or whose lines are cut off by their
# own; figures that reach into the next lane.
PARTS = (
    ".board, .board :is(.lanes, .lane, .stage-panel, .modelled-panel, .token, .legend, .chapter,"
    " dl > div)"
)
OVER = f"""() => [...document.querySelectorAll('{PARTS}')]
  .filter((part) => part.checkVisibility())
  .filter((part) => {{
    const box = part.getBoundingClientRect();
    const cut = part.scrollHeight > part.clientHeight + 1;
    const lane = part.closest(".lane")?.getBoundingClientRect() ?? {{ right: innerWidth }};
    return cut || box.right > lane.right + 1 || box.bottom > innerHeight + 1;
  }})
  .map((part) => part.className)"""

INJECTIONS = (
    "<img src=x onerror=window.hit=1>",
    "<script>window.hit=1</script>",
    "${window.hit=1}",
    "`${window.hit=1}`",
    "{{constructor.constructor('window.hit=1')()}}",
    "{{{window.hit=1}}}",
    "\\` ' \" </p><svg onload=window.hit=1>",
    "javascript:window.hit=1",
)
# All of them at once, and what would end the element or the script that it is in.
HOSTILE = " ".join(
    (*INJECTIONS, "</script><script>window.hit=1</script>", "--><b onclick=x>", "</title><b>b</b>")
)
PROMPT = "red apple on sky clouds"


def show_options(page: Page) -> None:
    """Unfolds the lanes and the other settings."""
    button = page.get_by_role("button", name="Lanes and options")
    if button.get_attribute("aria-expanded") == "false":
        button.click()


def show_layer(page: Page, layer: Layer) -> None:
    """Presses its button and, where others share it, chooses it among them."""
    group = layer.look.get("group", layer.look["title"])
    page.locator(".layers").get_by_role("button", name=group, exact=True).click()
    if group != layer.look["title"]:
        page.locator(".member").select_option(layer.value)
    expect(page.locator(".board")).to_have_attribute("data-layer", layer.value)


def set_lanes(page: Page, *names: str) -> None:
    """Lists lanes of these decoders, with their defaults, instead of those that are listed."""
    show_options(page)
    rows = page.locator(".lane-row")
    for _ in range(rows.count()):
        page.get_by_role("button", name="Remove lane 1", exact=True).click()
    for name in names:
        page.get_by_role("button", name=f"Add {DECODERS[name].title}", exact=True).click()
    expect(rows).to_have_count(len(names))


def lanes_by_event(page: Page, *lanes: str) -> None:
    """Lists lanes as the board does where it has some to try; `gsd:G=50` is one with a knob."""
    event = "document.dispatchEvent(new CustomEvent('photo-finish-lanes', { detail: %s }))"
    page.evaluate(event % list(lanes))


def race(
    page: Page, prompt: str = PROMPT, seed: int = 7, lanes: tuple[str, ...] = ("ar", "sjd")
) -> None:
    """Fills in the form and presses Race."""
    page.locator("#prompt input, #prompt textarea").fill(prompt)
    page.locator("#seed input").fill(str(seed))
    lanes_by_event(page, *lanes)
    page.locator("#race").click()


def state(page: Page, name: str) -> None:
    expect(page.locator(".board")).to_have_attribute("data-state", name, timeout=180_000)


def finished(page: Page) -> None:
    """Waits for the finish of a live race."""
    expect(page.locator(".board .meta")).not_to_contain_text("recorded")
    expect(page.locator(".board")).to_have_attribute("data-done", "1", timeout=180_000)
    state(page, "finished")


def running(page: Page) -> None:
    """Waits until a race is on and has shown its first steps."""
    state(page, "racing")
    expect(page.locator(".lane:not([data-step='0'])").first).to_be_visible()


def unfold(page: Page, section: str) -> None:
    """Unfolds a section below the board, or folds it."""
    page.locator(f"#{section} > button").click()


def unfolded(page: Page, field: str) -> Locator:
    """A field of a section that was just unfolded. Gradio gives it its first value once more in the
    frame after it is there: what is typed sooner is lost."""
    found = page.locator(field)
    expect(found).to_be_visible()
    frames(page)
    return found


def open_share(page: Page) -> None:
    """Opens the menu of links and files."""
    page.locator(".share").click()
    expect(page.locator("#share:popover-open")).to_be_visible()


def take_away(page: Page, kind: str) -> Path:
    """Makes a file of the race on the board and downloads it; the menu is open."""
    box = unfolded(page, "#take-kind input")
    box.fill(kind)  # by the keyboard: a click can miss an option whose page grows under it
    expect(page.get_by_role("option", name=kind, exact=True)).to_be_visible()
    box.press("Enter")
    expect(box).to_have_value(kind)
    page.locator("#make").click()
    with page.expect_download() as event:
        page.locator("#export-file a[download]").first.click()
    path = Path(event.value.path())
    return path.rename(path.with_name(event.value.suggested_filename))


def prompted(page: Page, text: str) -> None:
    """Waits until a race with this prompt is on the board."""
    expect(page.locator(".board .prompt")).to_have_text(text, use_inner_text=True)


def by_passes(page: Page) -> None:
    """Turns the board's clock to passes; the scrubber's scale is theirs after that."""
    page.locator(".clocks button", has_text="Passes").click()
    expect(page.locator(".board")).to_have_attribute("data-clock", "passes")


def hashes(page: Page, what: str = "hash") -> list[str]:
    return page.eval_on_selector_all(".lane", f"lanes => lanes.map(lane => lane.dataset.{what})")


def at(page: Page) -> float:
    """The instant on the board's clock, once what was changed before is drawn."""
    frames(page)
    return float(page.locator(".board").get_attribute("data-t"))


def key(page: Page, *names: str) -> None:
    """Presses keys with nothing focused."""
    page.evaluate("document.activeElement.blur()")
    for name in names:
        page.keyboard.press(name)


def wide(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def unhurt(page: Page) -> None:
    """Nothing that a visitor wrote has run, or become an element."""
    assert page.evaluate("window.hit") is None
    made = (
        ".board img:not([class]), .board .head svg, .board script, .board iframe, #notice img,"
        " #whatif img"
    )
    assert page.locator(made).count() == 0


def frames(page: Page, count: int = 3) -> None:
    """Waits until the page has drawn so many frames: what was to follow at once has followed."""
    page.evaluate(
        "count => new Promise((done) => { const next = () =>"
        " count-- ? requestAnimationFrame(next) : done(); next(); })",
        count,
    )


def hold_timers(page: Page) -> None:
    """From here on the page's timers wait for `run_timers`, however long they were set to."""
    page.evaluate(
        "window.timers = [], window.setTimeout = (act) => timers.push(act),"
        " window.clearTimeout = () => {}"
    )


def run_timers(page: Page) -> None:
    """Runs the timers that wait; those that they set wait for the next call."""
    page.evaluate("timers.splice(0).forEach((act) => act())")


def faultless(page: Page, faults: str, argument: object = None) -> None:
    """Waits until a script, which lists what is wrong, lists nothing; else says what it lists."""
    with suppress(TimeoutError):
        page.wait_for_function(f"(it) => ({faults})(it).length === 0", arg=argument)
    found = page.evaluate(faults, argument)
    assert not found, found


# The relative luminances of an element's text and of what is behind it (WCAG 2).
INK_AND_GROUND = """element => {
  const luminance = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, value, i) => {
    const part = value / 255;
    const linear = part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    return sum + [0.2126, 0.7152, 0.0722][i] * linear;
  }, 0);
  let ground = element;
  const clear = (part) => getComputedStyle(part).backgroundColor === "rgba(0, 0, 0, 0)";
  while (clear(ground)) ground = ground.parentElement;
  const style = getComputedStyle(element);
  const ink = element instanceof SVGElement ? style.fill : style.color;
  return [luminance(ink), luminance(getComputedStyle(ground).backgroundColor)];
}"""


def assert_legible(ink_and_ground: Sequence[float], theme: str, part: str) -> None:
    """By WCAG's contrast of small text."""
    ink, ground = ink_and_ground
    high, low = max(ink, ground), min(ink, ground)
    assert (high + 0.05) / (low + 0.05) >= 4.5, part
    assert (ink > ground) == (theme == "dark"), part
