"""The decoders, one file each.

A new decoder needs a file and a place in `_LANES`. Its lanes, badge, settings, traces and exactness
tests need nothing more.
"""

from __future__ import annotations

from engine.decoders.ar import VanillaAR
from engine.decoders.assd import ASSD
from engine.decoders.auto_correct import AutoCorrect
from engine.decoders.base import Badge, Decoder
from engine.decoders.fpi import FixedPoint
from engine.decoders.gsd import GSD
from engine.decoders.jacobi import Jacobi
from engine.decoders.lantern import Lantern
from engine.decoders.outside import load_outside, stand_in
from engine.decoders.parallel import Parallel
from engine.decoders.relaxed import RelaxedSJD
from engine.decoders.rows import ParallelRows
from engine.decoders.scd import SCD
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC
from engine.decoders.sjd_plus_plus import SJDPlusPlus
from engine.decoders.verdict import Verdict, verdict_on
from engine.decoders.zipar import ZipAR
from engine.trace import MAX_LANES

# By name, in the order in which lanes stand on the page.
_LANES: tuple[type[Decoder], ...] = (
    VanillaAR,
    Jacobi,
    FixedPoint,
    SJD,
    SCD,
    SJDPlusPlus,
    RelaxedSJD,
    GSD,
    Lantern,
    SJDPAC,
    ZipAR,
    ParallelRows,
    AutoCorrect,
    ASSD,
    Parallel,
)
BUILT_IN: dict[str, type[Decoder]] = {decoder.name: decoder for decoder in _LANES}
HALF = ("float16", "bfloat16")  # of 2 bytes
DECODERS = BUILT_IN | {decoder.name: decoder for decoder in load_outside(BUILT_IN)}
# Verdicts on decoders from outside, read together with the decoders' files: a later verdict may be
# on another text.
VERDICTS: dict[str, Verdict | None] = {
    name: verdict_on(decoder) for name, decoder in DECODERS.items() if name not in BUILT_IN
}
# The decoders that race unless others are chosen.
DEFAULT = tuple(name for name, decoder in DECODERS.items() if decoder.default)[:MAX_LANES]
# The decoders that race on whole pictures, and those that race on infillings.
WHOLE = tuple(name for name, decoder in DECODERS.items() if not decoder.infills)
FILLING = tuple(name for name, decoder in DECODERS.items() if not decoder.whole_only)


def decoder_of(name: str) -> type[Decoder]:
    """Return a lane's decoder, or a stand-in for a decoder that is not installed here."""
    return DECODERS.get(name) or stand_in(name)


def badge_of(name: str) -> Badge:
    """Return a decoder's badge: a built-in decoder's own, else the one that its verdict gives.

    A decoder from outside that has no verdict is NOT_JUDGED.
    """
    if name in BUILT_IN:
        return BUILT_IN[name].badge
    verdict = VERDICTS.get(name)
    return verdict.outcome.badge if verdict else Badge.NOT_JUDGED


def lane_badge(name: str, dtype: str) -> Badge:
    """Return the badge of a lane whose model computed in `dtype`.

    In half precision, IDENTICAL becomes ROUNDED in all lanes but vanilla AR's own. A pass over a
    window and a pass over one token then differ in their last bits. So a draw near the edge between
    two tokens may give the other token.
    """
    badge = badge_of(name)
    rounds = badge is Badge.IDENTICAL and name != "ar" and dtype in HALF
    return Badge.ROUNDED if rounds else badge


def is_claim(name: str, shift: float | None) -> bool:
    """Return whether a recorded shift of 0 is only the claim of a decoder's author.

    A decoder from outside records a shift of 0 (`WindowDecoder.shift`) if its author's badge is
    lossless, whatever the decoder commits. The 0 is more than a claim once a verdict says that the
    decoder is lossless.
    """
    return shift == 0 and name not in BUILT_IN and not badge_of(name).lossless
