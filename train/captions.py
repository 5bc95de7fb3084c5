"""Captions of scenes, and the tokenizer for them, which can encode any text.

The tokenizer is a byte-level BPE. The name of each thing, ground and place is one token, and so is
each layout's word. One embedding per name is learnt in far fewer steps than a combination of
several words' embeddings. Most training captions are canonical: they have the words of the page's
prompt reader. The other captions say the same in people's words, without the layout's word.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from engine.reader.scene import COLOURS, SIZES, Layout, Scene
from train.colours import mean_colours
from train.glyphs import names as headings
from train.paint import coloured
from train.scenes import random_scene, vocabulary

CAPTION = 16
PAD, PAD_TEXT = 0, "<pad>"
WORDS = 800  # entries of the byte-pair vocabulary; the names come on top
CANONICAL = 5 / 6  # share of the training captions
TOKENIZER, WORLD = Path("weights/captions/tokenizer.json"), Path("weights/world.json")

SAID = {"tiny": ("tiny", "small", "little"), "huge": ("huge", "big", "large", "giant")}
NUMBERS = {2: "two", 3: "three", 4: "four"}
BESIDE, ABOVE = ("and", "and", "next to", "beside"), ("above", "above", "over", "on top of")


def single_tokens() -> list[str]:
    """Return the texts that are one token each.

    They are the layouts' words, the names, the last word of each name, the colours and the
    sizes.
    """
    names = {part for kind in vocabulary() for name in kind for part in (name, name.split()[-1])}
    return sorted(names | {layout.value for layout in Layout} | {*COLOURS, *filter(None, SIZES)})


def shorten(name: str, rng: np.random.Generator, names: tuple[str, ...], colour: str = "") -> str:
    """Return `colour` and the name of a thing or a ground; one name in eight is shortened.

    A shortened name is its last word. The name always stays whole if its last word is itself one of
    `names`.
    """
    last = name.split()[-1]
    short = last if rng.random() < 1 / 8 and last not in names else name
    return phrase(colour, short)


def plural(name: str) -> str:
    """Return a name with its last word in the plural; some plurals are wrong, as people's are."""
    for singular, several in (("woman", "women"), ("man", "men"), ("person", "people")):
        if name.split()[-1] == singular:
            return name.removesuffix(singular) + several
    if name.endswith("s") and name[-2] not in "su":
        return name
    if name.endswith(("s", "x", "ch", "sh")):
        return name + "es"
    consonant = name.endswith("y") and name[-2] not in "aeiou"
    return name[:-1] + "ies" if consonant else name + "s"


def phrase(*parts: str) -> str:
    """Join words with spaces, and turn "a" into "an" before a vowel."""
    return re.sub(r"\ba (?=[aeiou])", "an ", " ".join(part for part in parts if part))


def spoken_things(what: Scene, rng: np.random.Generator) -> str:
    """Return a scene's things in people's words, in reading order.

    Equal things that follow one another are counted: "two cats and a dog".
    """
    names, article = vocabulary()[0], ("", "", "a", "the")[rng.integers(4)]
    size = SAID[what.size][rng.integers(len(SAID[what.size]))] if what.size else ""
    pairs = list(zip(what.things, what.colours, strict=True))
    if what.layout is Layout.STACK:
        above, below = (phrase(article, shorten(name, rng, names, hue)) for name, hue in pairs)
        return phrase(above, ABOVE[rng.integers(len(ABOVE))], below)
    phrases = []
    for (name, hue), equal in itertools.groupby(pairs):
        count, short = len(list(equal)), shorten(name, rng, names, hue)
        alone = phrase(article, size, short)
        phrases.append(f"{NUMBERS[count]} {plural(short)}" if count > 1 else alone)
    if what.layout is Layout.PAIR and len(phrases) == 2:
        return phrase(phrases[0], BESIDE[rng.integers(len(BESIDE))], phrases[1])
    return " and ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))


def spoken(what: Scene, rng: np.random.Generator) -> str:
    """Return a caption in people's words.

    The caption of a single thing at the centre seldom names the place. One time in sixteen the
    ground is left out.
    """
    text = spoken_things(what, rng)
    if rng.random() > 1 / 16:
        on = ("on", "on", "on a", "on the", "in the", "")[rng.integers(6)]
        text = phrase(text, on, shorten(what.ground, rng, vocabulary()[1]))
    if what.place != "centre":
        text += (" at the ", " at the ", " at ", " in the ", " ")[rng.integers(5)] + what.place
    elif what.layout is Layout.ONE and rng.random() < 1 / 16:
        text += (" at the ", " in the ", " ")[rng.integers(3)] + "centre"
    return text


def wording(what: Scene, rng: np.random.Generator) -> str:
    """Return a random training caption of a scene."""
    return what.caption if rng.random() < CANONICAL else spoken(what, rng)


def build(captions: int = 12_000, seed: int = 0) -> Tokenizer:
    """Train the tokenizer on the names and on `captions` spoken captions.

    The tokenizer returns exactly CAPTION ids for every text, padded on the left.
    """
    rng = np.random.default_rng((seed, 1))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFKC(),
            normalizers.Lowercase(),
            normalizers.Replace("’", "'"),
            normalizers.Replace(Regex(r"[^\p{L}\p{M}\p{N}\p{So}']+"), " "),
            normalizers.Strip(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS,
        special_tokens=[PAD_TEXT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    names = single_tokens()
    texts = (spoken(random_scene(rng, held=False), rng) for _ in range(captions))
    tokenizer.train_from_iterator([*names, *texts], trainer)
    tokenizer.add_tokens(
        [AddedToken(name, single_word=True, lstrip=True, normalized=True) for name in names]
    )
    tokenizer.enable_padding(direction="left", pad_id=PAD, pad_token=PAD_TEXT, length=CAPTION)
    tokenizer.enable_truncation(CAPTION)
    return tokenizer


def knows_names(tokenizer: Tokenizer) -> bool:
    """Return whether each of `single_tokens` is one token of the tokenizer."""
    return all(
        sum(i != PAD for i in encoding.ids) == 1
        for encoding in tokenizer.encode_batch(single_tokens())
    )


def load(file: Path = TOKENIZER) -> Tokenizer:
    """Return the caption tokenizer of `file`; if there is no such file, train and save it first."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        build().save(str(file))
    return Tokenizer.from_file(str(file))


def save_world(file: Path = WORLD) -> None:
    """Save in `file` the names that the model knows, for the page's hints.

    The entry "groups" has the things' names under each heading of glyphs.txt. Entries of `file`
    that are not written here stay.
    """
    glyphs, grounds, places = vocabulary()
    groups: dict[str, list[str]] = {}
    for name, heading in headings().items():
        groups.setdefault(heading, []).append(name)
    world = json.loads(file.read_text("utf-8")) if file.exists() else {}
    world |= {"glyphs": glyphs, "grounds": grounds, "places": places, "groups": groups}
    world |= {"layouts": [layout.value for layout in Layout], "colours": mean_colours()}
    world |= {"coloured": coloured(), "sizes": [size for size in SIZES if size]}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(world, indent=1, ensure_ascii=False) + "\n", "utf-8")
