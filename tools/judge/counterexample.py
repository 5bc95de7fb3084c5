"""The smallest case in which a decoder's distribution differs from vanilla AR's.

A counterexample has the first token that shows the difference, and the passes that lead there.
"""

from __future__ import annotations

import dataclasses

from engine.decoders.verdict import Counterexample
from engine.decoders.window import WindowDecoder
from tools.judge.cases import Case
from tools.judge.enumeration import CLOSE, Joint
from tools.judge.ways import DIGITS, ways_to


def counterexample(kind: type[WindowDecoder], case: Case) -> Counterexample:
    """Return the counterexample of a case that differs; call it within `enumeration.exactly`."""
    prefix, token, p, decoder_p = first_difference(case)
    start = (*prefix, token)
    every = {*case.joint, *case.expected}
    sequence = max(
        sorted(tokens for tokens in every if tokens[: len(start)] == start),
        key=lambda tokens: abs(case.joint.get(tokens, 0.0) - case.expected.get(tokens, 0.0)),
    )
    decoder = kind(case.model, case.settings, plan=case.plan)
    # A decoder with an order of its own has other positions.
    found_ways = ways_to(decoder, sequence, len(prefix)) if decoder.plan is case.plan else ()
    return Counterexample(
        model=case.standard.words,
        settings=dataclasses.asdict(case.settings),
        total_variation=case.variation,
        prefix=prefix,
        token=token,
        p=round(p, DIGITS),
        found=round(decoder_p, DIGITS),
        sequence=sequence,
        sequence_p=round(case.expected.get(sequence, 0.0), DIGITS),
        sequence_found=round(case.joint.get(sequence, 0.0), DIGITS),
        ways=found_ways,
    )


def true_shift(case: Case) -> float:
    """Return the expected total shift of a sequence: the sum of its tokens' TV.

    A token's TV is between the decoder's and the model's distribution of that token, both given the
    tokens before it.
    """
    return sum(
        0.5 * chance * abs(decoder_p - p)
        for n in range(case.plan.length)
        for _, chance, p, decoder_p in _tokens(case, n)
    )


def first_difference(case: Case) -> tuple[tuple[int, ...], int, float, float]:
    """Return the shortest prefix after which the decoder differs from vanilla AR, and a next token.

    Of all prefixes of that length and their next tokens, those with the largest difference are
    returned. The difference is that between the token's two probabilities, times the probability
    that the decoder draws the prefix.

    Returns:
        The prefix, the token, and its probabilities by vanilla AR and by the decoder.

    Raises:
        ValueError: the distributions do not differ.
    """
    for n in range(case.plan.length):
        tokens, chance, p, decoder_p = max(
            _tokens(case, n), key=lambda each: each[1] * abs(each[3] - each[2])
        )
        if chance * abs(decoder_p - p) > CLOSE:
            return tokens[:n], tokens[n], p, decoder_p
    raise ValueError("the distributions do not differ")


def _tokens(case: Case, n: int) -> list[tuple[tuple[int, ...], float, float, float]]:
    """Return every prefix of n + 1 tokens that vanilla AR or the decoder may draw.

    Prefixes are left out if one of the two cannot draw their first n tokens. Each row has the
    prefix, the probability that the decoder draws its first n tokens, and the probability of its
    last token given the first n, by vanilla AR and by the decoder.
    """
    before, after = _prefixes(case.joint, n), _prefixes(case.joint, n + 1)
    p_before, p_after = _prefixes(case.expected, n), _prefixes(case.expected, n + 1)
    return [
        (
            tokens,
            before[tokens[:n]],
            p_after.get(tokens, 0.0) / p_before[tokens[:n]],
            after.get(tokens, 0.0) / before[tokens[:n]],
        )
        for tokens in sorted({*after, *p_after})
        if before.get(tokens[:n], 0.0) > 0 and p_before.get(tokens[:n], 0.0) > 0
    ]


def _prefixes(joint: Joint, length: int) -> Joint:
    prefixes: Joint = {}
    for tokens, chance in joint.items():
        prefixes[tokens[:length]] = prefixes.get(tokens[:length], 0.0) + chance
    return prefixes
