"""One table of hostile values, in every place of every call that takes what a visitor says."""

from __future__ import annotations

import json

import pytest

from tests.abuse.conftest import SECRETS, TARGETS, Site, Trap, words
from tests.abuse.test_files import upload
from tests.abuse.test_requests import TAKES
from tests.browser.acts import INJECTIONS

HEADER = b'{"format": "photo-finish-trace", "version": 4, "header": '
MARKUP = b'{"prompt": "<script>", "lanes": [{"decoder": "<img src=x>"}]}}'


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
    return [value for file in said for value in (file, [file], {"a": file})]


# The form's own tests have the words for every other prompt, seed and list of lanes.
PROMPTS = [None, "x" * 10**6, *(text * 100 for text in INJECTIONS)]
SEEDS = [10**30, *INJECTIONS]
LANES = [
    ["ar"] * 10_000,
    ["../ar"],
    ["x" * 10**6],
    ["gsd:" + "x" * 10**6],
    ["gsd:G=" + "9" * 10**6],
    ["gsd:" + "G=4;" * 10**5],
    *([text] for text in INJECTIONS),
    *([f"gsd:{text}"] for text in INJECTIONS),
]


@pytest.mark.parametrize("name", ["race", "board"])
def test_a_hostile_value_is_rejected_in_words(site: Site, name: str) -> None:
    good = site.race_values() if name == "board" else ["red apple", 7, ["ar"]]
    passes = site.model.passes
    for place, values in enumerate((PROMPTS, SEEDS, LANES)):
        for value in values:
            site.rejection([*good[:place], value, *good[place + 1 :]], name)
    assert site.model.passes == passes


@pytest.mark.parametrize("values", [[], ["x"], ["x", 7, ["ar"], *[None] * 8, "more"]])
def test_a_call_with_missing_or_further_values_says_what_it_takes(site: Site, values) -> None:
    assert site.rejection(values, "race").startswith(TAKES)


@pytest.mark.parametrize("name", ["board", "race", "open"])
def test_a_file_that_was_not_uploaded_is_not_read(site: Site, trap: Trap, name: str) -> None:
    rest = {"board": site.race_values()[1:], "race": [7, ["ar"]], "open": []}[name]
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
