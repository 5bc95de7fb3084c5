"""Prompts are read as one of ImageNet's classes: names, wider words, what is left out, and a
sentence where there is none."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.reader.class_names import CALLED, INSTEAD, NAMES, OTHERS, WIDER, ClassNames
from engine.reader.classes import LISTED, ClassReading, class_names, read_class
from engine.reader.names import Kind, phrase, phrases
from engine.settings import SettingError

NONE = "This model draws one of ImageNet's 1,000 classes, and the prompt names none"


def listed() -> list[tuple[str, str, list[str]]]:
    """Prompts with the class and the words left out that each should have."""
    lines = Path(__file__).with_name("classes.txt").read_text("utf-8").splitlines()
    parts = [line.split(" => ") for line in lines if not line.startswith("#")]
    return [(p, c, sorted(", ".join(rest).split(", "))) for p, c, *rest in parts]


@pytest.mark.parametrize(("prompt", "name", "left_out"), listed())
def test_prompts_of_strangers(prompt: str, name: str, left_out: list[str]) -> None:
    if name == "none":
        with pytest.raises(SettingError):
            read_class(prompt)
    else:
        reading = read_class(prompt)
        assert (reading.name, sorted(", ".join(reading.left_out).split(", "))) == (name, left_out)


def test_a_class_is_read_by_each_of_its_names() -> None:
    for number, words in enumerate(CALLED):
        for name in words.split(", "):
            assert read_class(name) == read_class(f"A {name.upper()}") == ClassReading(number), name


def test_no_phrase_stands_twice() -> None:
    wider = (f"{word}, {each.also.replace(';', ',')}, {each.young}" for word, each in WIDER.items())
    called = [name for words in CALLED for name in {*phrases(words)}]
    found = sorted([*called, *(name for words in wider for name in phrases(words)), *OTHERS])
    assert not [name for name, after in pairwise(found) if name == after]


def test_the_lists_name_what_there_is() -> None:
    assert len(NAMES) == len(set(NAMES)) == 1000
    assert NAMES[207] == "golden retriever"
    for word, wider in WIDER.items():
        assert wider.drawn in wider.kinds <= set(range(1000)), word
    assert {name for names in INSTEAD.values() for name in names} <= set(NAMES)


def test_what_a_wider_word_is_called() -> None:
    names = ClassNames()
    for word, wider in WIDER.items():
        for key in phrases(f"{word}, {wider.also.replace(';', ',')}"):
            assert names.exact(key) == (Kind.WIDER, word)
        for key in phrases(wider.young):
            assert names.exact(key) == (Kind.YOUNG, word)
    for key in (*OTHERS, *INSTEAD):
        assert names.exact(key) == (Kind.UNKNOWN, ""), key


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("a golden retriever", ""),
        ("golden retrievers", ""),
        ("kultaiset otters", "reads: otter; not drawn: kultaiset"),
        ("a golden retriever puppy", "reads: golden retriever; not drawn: puppy"),
        ("goldn retreiver", "reads: golden retriever"),
        ("a dog", "reads: golden retriever"),
        ("207", "reads: golden retriever"),
        ("one otter", ""),
        ("no dog, no cat, one red red otter", "reads: otter; not drawn: dog, cat, red"),
        ("five otters in a red boat", "reads: otter; not drawn: five, red, boat"),
    ],
)
def test_a_reading_in_words(prompt: str, text: str) -> None:
    assert str(read_class(prompt)) == text


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("giraffes", f"{NONE}, such as gazelle, impala or hartebeest: {LISTED}."),
        (
            "a spotted wizard",
            f"{NONE}, such as spotted salamander, frilled lizard or alligator lizard: {LISTED}.",
        ),
        ("a qqq", f"{NONE}: {LISTED}."),
        ("", f"{NONE}: {LISTED}."),
        ("1000", f"ImageNet's classes are numbered 0 to 999: {LISTED}."),
        ("9" * 5000, f"ImageNet's classes are numbered 0 to 999: {LISTED}."),
    ],
)
def test_a_prompt_without_a_class_is_told_so(prompt: str, text: str) -> None:
    with pytest.raises(SettingError) as error:
        read_class(prompt)
    assert str(error.value) == text


@pytest.mark.parametrize("number", [-1, 1000])
def test_there_is_no_reading_of_no_class(number: int) -> None:
    with pytest.raises(ValueError, match="classes are numbered 0 to 999"):
        ClassReading(number)


def test_the_list_is_searched_by_name_language_and_kind() -> None:
    listed = class_names()
    assert [each.number for each in listed] == list(range(1000))
    assert (listed[360].name, listed[360].emoji) == ("otter", "🦦")
    assert {"otter", "loutre", "выдра"} <= {*listed[360].called}
    assert {each.number for each in listed if "dog" in each.called} == WIDER["dog"].kinds
    assert {each.number for each in listed if phrase("Canis lupus") in each.called} == {269}
    for each in listed:
        assert not each.emoji or read_class(each.emoji) == ClassReading(each.number)


PIECES = sorted(
    {word for prompt, *_ in listed() for word in prompt.split()}
    | {"of", "0", "9", ",", ".", "の", "上", "❄", "\u200d", "🏽", "class"}
)


@given(
    st.one_of(
        st.text(max_size=1000),
        st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join),
        st.lists(st.sampled_from(PIECES), max_size=60).map("".join),
    )
)
def test_every_text_is_read_or_told_that_it_names_none(text: str) -> None:
    try:
        reading = read_class(text)
    except SettingError as error:
        message = str(error)
    else:
        message = f": {LISTED}."
        assert reading == read_class(text)
        assert reading.sure or str(reading).startswith(f"reads: {reading.name}")
    assert message.endswith(f": {LISTED}.")
