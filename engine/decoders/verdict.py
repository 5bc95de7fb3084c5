"""The verdict on a decoder, in a file beside the decoder's own.

`tools.judge` writes the file, and a lane's badge follows from the verdict. The verdict has the
digest of the decoder's file; once that file has changed, the decoder counts as not judged.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.decoders.base import Badge, Decoder

FORMAT: Final = 2
MOST_BYTES = 8 * 2**20  # of a file that is read

log = logging.getLogger(__name__)


class Outcome(Enum):
    """The result of judging a decoder by whole pictures."""

    IDENTICAL = "identical"  # vanilla AR's picture, token for token
    LOSSLESS = "lossless"  # vanilla AR's distribution
    CHANGED = "changed"  # another distribution
    OPEN = "open"  # no difference was found, but a difference is not excluded
    BROKEN = "broken"  # the decoder does not decode as a lane must

    @property
    def badge(self) -> Badge:
        """The badge of a lane with this outcome."""
        return {
            Outcome.IDENTICAL: Badge.IDENTICAL,
            Outcome.LOSSLESS: Badge.SAME_DISTRIBUTION,
            Outcome.CHANGED: Badge.CHANGED_DISTRIBUTION,
        }.get(self, Badge.NOT_JUDGED)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


Value = bool | int | float | str


def settings_in_words(settings: Mapping[str, Value]) -> str:
    """Return every setting with its value, as in "k = 2, e = 0.1"."""
    return ", ".join(f"{name} = {value}" for name, value in settings.items()) or "no settings"


class Number(_Part):
    """A uniform number that decided a pass.

    `index` is the number's index among the numbers of its position. With every value between `low`
    and `high` the pass does the same.
    """

    purpose: str
    position: int
    index: int
    low: float
    high: float


class Pass(_Part):
    """One pass of a decode.

    The drafts [H] are those of the positions from `start` on, and were drawn from q [H, V]. Row i
    of p [rows, V] is the model's distribution at position start + i. `numbers` decided the pass.
    `statuses` belong to the `committed` tokens. `chance` is the pass's probability given the passes
    before.
    """

    start: int
    drafts: tuple[int, ...]
    p: tuple[tuple[float, ...], ...]
    q: tuple[tuple[float, ...], ...]
    numbers: tuple[Number, ...]
    committed: tuple[int, ...]
    statuses: tuple[str, ...]
    chance: float


class Way(_Part):
    """The decodes of a counterexample's `sequence` that commit its token with `status`.

    That token is the counterexample's `token`, the first one after `prefix`. `chance` is the total
    probability of these decodes. `passes` are the passes of the likeliest of them.
    """

    status: str
    chance: float
    passes: tuple[Pass, ...]


class Counterexample(_Part):
    """The smallest case in which the distribution differs from vanilla AR's.

    After `prefix` the next token is `token` with probability `p` under vanilla AR and `found` under
    the decoder. Among the sequences that begin with these tokens, `sequence` differs most: its
    probabilities are `sequence_p` and `sequence_found`. `ways` has one Way to `sequence` for each
    status that `token` can have. `ways` is empty if the decoder has an order of its own.
    """

    model: str
    settings: Mapping[str, Value]
    total_variation: float
    prefix: tuple[int, ...]
    token: int
    p: float
    found: float
    sequence: tuple[int, ...]
    sequence_p: float
    sequence_found: float
    ways: tuple[Way, ...]


class Shift(_Part):
    """The mean shift of a token in the pictures of one small model, with some settings.

    `recorded` is the mean of the shifts that the decoder records, None if it records none. `true`
    is the mean TV between the decoder's distribution of a token and the model's, both given the
    tokens before it.
    """

    model: str
    settings: Mapping[str, Value]
    recorded: float | None
    true: float


class CaseVerdict(_Part):
    """The result of enumerating a joint distribution, for a small model with some settings.

    `total_variation` is the distance between the decoder's joint distribution and vanilla AR's. It
    is 0 if the two differ by rounding alone.
    """

    model: str
    settings: Mapping[str, Value]
    total_variation: float


class Check(_Part):
    """A requirement of every lane, and whether the decoder meets it; `words` say what was seen."""

    name: str
    passed: bool
    words: str


class SampledModel(_Part):
    """The pictures sampled from one model with some settings, and the passes that they took.

    `log10_e` is the decimal logarithm of the e-value of this model's test (see `Samples`).
    """

    model: str
    settings: Mapping[str, Value]
    pictures: int
    passes: int
    log10_e: float


class Samples(_Part):
    """The pictures sampled from models that are too large to enumerate.

    Each of `models` is one test with several statistics. A statistic looks at certain tokens of all
    pictures, such as the tokens at one position. It counts how many of them have their rank in each
    eighth of (0, 1); `tools.judge.sampling` says what a rank is.

    `statistics`, `deviation` and `pooled` describe the test of the first model with the default
    settings. They are 0 if that test ended early.

    Attributes:
        log10_e: decimal logarithm of e: the largest e-value of a test, divided by the number of
            tests planned. For vanilla AR's own pictures an e this large has at most the probability
            1 / e (Ville's inequality).
        statistics: number of statistics of the test.
        deviation: how far above 1 / 8 an eighth's probability must be for the statistic of the
            tokens at one position to detect this with probability 0.99.
        pooled: as `deviation`, for the statistic of all tokens together.
    """

    models: tuple[SampledModel, ...]
    log10_e: float
    statistics: int
    deviation: float
    pooled: float

    @property
    def pictures(self) -> int:
        return sum(each.pictures for each in self.models)

    @property
    def passes(self) -> int:
        return sum(each.passes for each in self.models)


class Reached(_Part):
    """The statuses and the largest numbers that occurred in some pictures.

    `statuses` are those of the committed tokens. `committed` is the largest number of tokens that
    one pass committed, `passes` the largest number of passes that one picture took.
    """

    statuses: tuple[str, ...]
    committed: int
    passes: int


class Coverage(_Part):
    """How much of a decoder's behaviour the enumeration and the sampled pictures showed.

    `age` is the largest number of passes that a draft waited in a sampled picture. `idle` has the
    numbers of the lines of the decoder's file that did not run in the first sampled pictures.
    """

    enumerated: Reached
    sampled: Reached
    age: int
    idle: tuple[int, ...]


class Verdict(_Part):
    """The findings on one decoder.

    Attributes:
        claim: the badge that the decoder's author gave it.
        cases: the joint distributions that were enumerated.
        runs: how many times the enumerations ran a pass's verification.
        difference: largest difference between any picture's probabilities under the decoder and
            under vanilla AR, in all cases.
        left_out: the cases whose enumeration took too long, in words.
        tokens_a_pass: expected tokens a pass of this decoder and of some known ones, by title; all
            on one small model.
        unseen: reasons other than time for which something could not be enumerated, in words.
        stopped: whether somebody ended the judgement early.
    """

    format: Literal[2] = FORMAT
    version: str
    decoder: str
    title: str
    claim: str
    digest: str
    outcome: Outcome
    cases: tuple[CaseVerdict, ...]
    runs: int
    difference: float
    left_out: tuple[str, ...]
    counterexample: Counterexample | None
    shift: Shift | None
    samples: Samples | None
    coverage: Coverage | None
    unseen: tuple[str, ...]
    stopped: bool
    checks: tuple[Check, ...]
    tokens_a_pass: Mapping[str, float]

    @property
    def total_variation(self) -> float:
        """The largest total variation of the enumerated cases."""
        return max((each.total_variation for each in self.cases), default=0.0)

    @property
    def sentence(self) -> str:
        """The verdict in a sentence for a page.

        A second sentence follows if the author's badge promises more than the judgement found.
        """
        by = f"by Photo Finish {self.version}"
        extent = f"in {len(self.cases)} exact joint distributions"
        sampled = f", nor in {self.samples.pictures:,} sampled pictures" if self.samples else ""
        if self.total_variation:
            seen = f"by a total variation of up to {self.total_variation:.3g} on small models"
        else:
            seen = "as sampled pictures show"
        sentence = {
            Outcome.IDENTICAL: f"Judged {by}: vanilla AR's very picture; {extent} no difference.",
            Outcome.LOSSLESS: f"Judged {by}: {extent} no difference from vanilla AR's{sampled}.",
            Outcome.CHANGED: f"Judged {by}: another distribution than vanilla AR's, {seen}.",
            Outcome.OPEN: f"Judged {by}: no difference was found, and none is excluded.",
            Outcome.BROKEN: f"Judged {by}: it does not decode as a lane must.",
        }[self.outcome]
        return f"{sentence} {self._denial}".rstrip()

    @property
    def _denial(self) -> str:
        promises = {
            Outcome.LOSSLESS: (Badge.IDENTICAL,),
            Outcome.CHANGED: (Badge.IDENTICAL, Badge.SAME_DISTRIBUTION),
        }.get(self.outcome, ())
        if self.claim not in [badge.value for badge in promises]:
            return ""
        return f"Its author's badge, {self.claim}, does not hold."


class VerdictFile(_Part):
    """The verdicts on the decoders of one file."""

    verdicts: tuple[Verdict, ...]


def verdict_path(source: Path) -> Path:
    """Return the path of the verdicts on a file's decoders, as rule.verdict.json beside rule.py."""
    return source.with_suffix(".verdict.json")


def digest_of(source: Path) -> str:
    """Return the sha256 of a file's text."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def source_of(decoder: type[Decoder]) -> Path | None:
    """Return the file that defines a decoder, or None."""
    try:
        file = inspect.getsourcefile(decoder)
    except (OSError, TypeError):
        file = getattr(sys.modules.get(decoder.__module__), "__file__", None)
    return Path(file) if file else None


def verdict_on(decoder: type[Decoder]) -> Verdict | None:
    """Return the verdict beside a decoder's file, or None.

    The result is None if there is no verdict, or if the verdict is on another text of the file. A
    verdict file that cannot be read is left out with a warning.
    """
    source = source_of(decoder)
    if source is None:
        return None
    mine = [each for each in _read(verdict_path(source)) if each.decoder == decoder.name]
    if mine and mine[0].digest != digest_of(source):
        log.warning(
            "The verdict %s is of another text than %s has now: judge it again.",
            verdict_path(source),
            source,
        )
        return None
    return mine[0] if mine else None


def _read(path: Path) -> tuple[Verdict, ...]:
    if not path.is_file():
        return ()
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES // 2**20} MB")
        return VerdictFile.model_validate_json(path.read_bytes()).verdicts
    except (OSError, ValueError) as error:
        why = (
            "it is of another version: judge it again"
            if isinstance(error, ValidationError)
            else error
        )
        log.warning("The verdict %s is left out: %s.", path, why)
        return ()


def write_verdicts(source: Path, verdicts: Sequence[Verdict]) -> Path:
    """Write verdicts to the file beside a decoder's file, and return its path.

    Verdicts on other decoders of `source` stay if they are about its present text.
    """
    path, new = verdict_path(source), {each.decoder for each in verdicts}
    others = [
        each for each in _read(path) if each.decoder not in new and each.digest == digest_of(source)
    ]
    text = VerdictFile(verdicts=(*others, *verdicts)).model_dump_json(indent=1)
    path.write_text(text + "\n", "utf-8")
    return path
