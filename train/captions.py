"""Captions: the wordings of a scene, and their tokenizer, which encodes any other text too.

The tokenizer is a byte-level BPE trained on captions, in which every name of a glyph, ground or
place is one token: an embedding per glyph is learnt in far fewer steps than a conjunction of words.
Some training captions shorten a name to its last word ("apple", "clouds"), so that the model learns
plain words too.
"""

from __future__ import annotations

import json
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

from train.scenes import Words, vocabulary, words

CAPTION = 16
PAD, PAD_TEXT = 0, "<pad>"
WORDS = 600  # entries of the byte-pair vocabulary; the names come on top
TOKENIZER, WORLD = Path("weights/captions/tokenizer.json"), Path("weights/world.json")


def shorten(name: str, rng: np.random.Generator, names: tuple[str, ...]) -> str:
    """One time in eight a name's last word alone, unless that is in `names`."""
    last = name.split()[-1]
    return last if rng.random() < 1 / 8 and last not in names else name


def wording(what: Words, rng: np.random.Generator) -> str:
    """A random caption of a scene. Without a place the glyph is at the centre; one time in sixteen
    the ground is left out."""
    glyphs, grounds, _ = vocabulary()
    glyph, ground = shorten(what.glyph, rng, glyphs), shorten(what.ground, rng, grounds)
    article = ("", "", "a ", "the ")[rng.integers(4)]
    text = f"{'an ' if article == 'a ' and glyph[0] in 'aeiou' else article}{glyph}"
    if rng.random() > 1 / 16:
        text += (" on ", " on ", " on a ", " on the ", " ")[rng.integers(5)] + ground
    if what.place != "centre":
        text += (" at the ", " at the ", " at ", " in the ", " ")[rng.integers(5)] + what.place
    elif rng.random() < 1 / 16:
        text += (" at the ", " in the ", " ")[rng.integers(3)] + "centre"
    return text


def build(captions: int = 60_000, seed: int = 0) -> Tokenizer:
    """Trains the tokenizer on `captions` wordings. It always gives exactly CAPTION ids, padded on
    the left."""
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
    names = sorted(
        {part for kind in vocabulary() for name in kind for part in (name, name.split()[-1])}
    )
    texts = (wording(words(rng, held_out=False), rng) for _ in range(captions))
    tokenizer.train_from_iterator([*names, *texts], trainer)
    tokenizer.add_tokens(
        [AddedToken(name, single_word=True, lstrip=True, normalized=True) for name in names]
    )
    tokenizer.enable_padding(direction="left", pad_id=PAD, pad_token=PAD_TEXT, length=CAPTION)
    tokenizer.enable_truncation(CAPTION)
    return tokenizer


def load(file: Path = TOKENIZER) -> Tokenizer:
    """The caption tokenizer, trained and saved if `file` does not exist."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        build().save(str(file))
    return Tokenizer.from_file(str(file))


def save_world(file: Path = WORLD) -> None:
    """The names the model knows, for the page's hints, beside what else `file` holds."""
    glyphs, grounds, places = vocabulary()
    world = json.loads(file.read_text()) if file.exists() else {}
    world |= {"glyphs": glyphs, "grounds": grounds, "places": places}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(world, indent=1, ensure_ascii=False) + "\n")
