"""One table of hostile values, in every place of every call that takes what a visitor says."""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.settings import Sampling
from tests.abuse.conftest import SECRETS, TARGETS, Site, Trap, words
from tests.abuse.test_files import upload
from tests.abuse.test_requests import TAKES
from tests.app.conftest import ANYTHING
from tests.browser.acts import INJECTIONS

HEADER = b'{"format": "photo-finish-trace", "version": 4, "header": '
MARKUP = b'{"prompt": "<script>", "lanes": [{"decoder": "<img src=x>"}]}}'
# What /race takes, in this order; None as the model has it.
SAMPLED = ("guidance", "temperature", "top_k", "top_p")
FLAGS = ("pictures", "trace")
RACE = {"prompt": "red apple", "seed": 7, "lanes": ["ar"], "model": None}
RACE |= dict.fromkeys(SAMPLED) | dict.fromkeys(FLAGS, False) | {"guided_tokens": None}
STRANGE = " ".join(
    (
        *INJECTIONS,
        "\x1b[31m\x07",
        "\u202eelppa der",
        "a\r\nSet-Cookie: hit=1",
        "'; DROP TABLE races; --",
        "%s%n{0.__class__}",
        "/etc/passwd",
        "http://127.0.0.1/",
        "\ufeff",
        "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢",
    )
)

# By field, what is rejected, and words of the rejection. What else is, the reader's own tests have:
# tests/app/races/test_request_values.py.
WRONG = (
    *("ten", "", "1e9999", INJECTIONS[0]),
    *(10**400, -1e308, float("nan"), float("inf")),
    *([], [[]], {"a": 1}, {"__type__": "update", "value": 1}),
)
KNOBS = Sampling.__slots__
HOSTILE = [
    ("prompt", None, "as text"),
    ("prompt", "x" * 10**6, "1000000 characters"),
    ("prompt", "half \ud83c", "half a character"),
    ("prompt", "a\0b", "holds a NUL"),
    ("prompt", INJECTIONS[0] * 100, "characters"),
    *(("seed", value, "seed") for value in (10**30, INJECTIONS[0])),
    ("lanes", ["ar"] * 10_000, "not 10000"),
    *(("lanes", [text], "no decoder called") for text in ("../ar", "x" * 10**6, *INJECTIONS[:3])),
    *(("lanes", [f"gsd:{text}"], "no knob") for text in ("x" * 10**6, *INJECTIONS[:3])),
    ("lanes", ["gsd:" + "G=4;" * 10**5], "GSD: G is given twice"),
    *(("lanes", [f"gsd:G={text}"], "GSD: G is") for text in ("9" * 10**6, *WRONG[:4])),
    *((knob, "ten", knob) for knob in KNOBS),
    *((knob, wrong, knob) for knob, wrong in zip(cycle(KNOBS), WRONG, strict=False)),
    *((flag, wrong, "is true or false") for flag in FLAGS for wrong in ("yes", "false", 1, None)),
]


def good(site: Site, name: str) -> list[Any]:
    return site.race_values() if name == "board" else list(RACE.values())


def places(site: Site, name: str) -> dict[str, int]:
    """Where a call takes each of the fields that it has."""
    fields = [*list(RACE)[:3], *site.labels[3:]] if name == "board" else RACE
    return {field: i for i, field in enumerate(fields)}


@pytest.mark.parametrize("name", ["race", "board"])
def test_a_hostile_value_is_rejected_in_words(site: Site, name: str) -> None:
    found, passes = places(site, name), site.model.passes
    assert found.keys() >= {"prompt", "seed", "lanes", *KNOBS}
    for field, value, said in HOSTILE:
        if field in found:
            values = good(site, name)
            values[found[field]] = value
            message = site.rejection(values, name)
            assert said in message, (field, repr(value)[:40], message)
    assert site.model.passes == passes


@given(data=st.data())
def test_any_field_may_hold_anything(site: Site, data: st.DataObject) -> None:
    fields = site.race_values(lanes=("ar",))
    i = data.draw(st.integers(0, len(fields) - 1))
    event, answer = site.call([*fields[:i], data.draw(ANYTHING), *fields[i + 1 :]])
    assert event == "complete" or words(answer)


@pytest.mark.parametrize("values", [[], ["x"], ["x", 7, ["ar"], *[None] * 8, "more"]])
def test_a_call_with_missing_or_further_values_says_what_it_takes(site: Site, values) -> None:
    assert site.rejection(values, "race").startswith(TAKES)


# What is text


@pytest.mark.parametrize(
    ("name", "prompt"),
    [("board", STRANGE), ("board", "🍎" * 1000), ("race", STRANGE)],
    ids=["board", "emoji", "race"],
)
def test_a_prompt_comes_back_as_the_text_it_is(site: Site, name: str, prompt: str) -> None:
    event, data = site.call([prompt, *good(site, name)[1:]], name)
    assert event == "complete", data
    assert data[0]["prompt"] == prompt
    assert data[0]["lanes"][0]["state"] == "finished"


@pytest.mark.parametrize("prompt", ["half \ud83c", "a\0b"], ids=ascii)
def test_what_is_no_text_is_read_while_it_is_typed(site: Site, prompt: str) -> None:
    event, _ = site.call(site.race_values(prompt), "read")
    assert event == "complete"


def test_an_address_with_script_in_it_is_not_written_into_the_page(site: Site) -> None:
    for query in ("prompt={}", "lanes={}", "{}=1", "__theme={}"):
        page = site.client.get(f"/?{query.format(quote(STRANGE))}")
        assert page.status_code == 200
        assert not [text for text in INJECTIONS if text in page.text]


# What is no file of the client's


def files(url: str) -> list[object]:
    """What a client says of a file that it never uploaded."""
    passwd = {"path": "/etc/passwd", "orig_name": "x.json", "mime_type": "application/json"}
    said = [
        *({"path": target} for target in TARGETS),
        *({"path": path, "url": url} for path in (url, "x")),
        passwd | {"url": url},
        {"path": "../" * 9 + "etc/passwd"},
        {"path": "\0"},
    ]
    said = [file | {"meta": {"_type": "gradio.FileData"}} for file in said]
    return [*said, [said[0]], {"a": said[0]}]


@pytest.mark.parametrize("name", ["board", "race", "open"])
def test_a_file_that_was_not_uploaded_is_not_read(site: Site, trap: Trap, name: str) -> None:
    rest = [] if name == "open" else good(site, name)[1:]
    plain = ["/etc/passwd", trap.url, ["/etc/passwd"], 5, None] if name == "open" else []
    for value in files(trap.url) + plain:
        event, data = site.call([value, *rest], name)
        assert event in ("error", "rejected"), (value, data)
        assert not any(secret.decode() in json.dumps(data) for secret in SECRETS)
    assert trap.calls == 0


@pytest.mark.parametrize("data", [b"[" * 100_000, HEADER + MARKUP], ids=["deep", "markup"])
def test_a_hostile_trace_is_rejected_in_words(site: Site, data: bytes) -> None:
    """The reader's own tests have hundreds more."""
    (path,) = upload(site, "race.json", data).json()
    event, answer = site.call([{"path": path, "meta": {"_type": "gradio.FileData"}}], "open")
    assert event == "error"
    assert words(answer)
