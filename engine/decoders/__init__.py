"""The decoders, one file each. A new one is a file and its place in `DECODERS`; lanes, badges,
settings, traces and the exactness tests follow from it."""

from __future__ import annotations

from engine.decoders.ar import VanillaAR
from engine.decoders.assd import ASSD
from engine.decoders.base import Decoder
from engine.decoders.fpi import FixedPoint
from engine.decoders.gsd import GSD
from engine.decoders.jacobi import Jacobi
from engine.decoders.lantern import Lantern
from engine.decoders.parallel import Parallel
from engine.decoders.relaxed import RelaxedSJD
from engine.decoders.scd import SCD
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC
from engine.decoders.zipar import ZipAR

# By name, in the order in which lanes stand on the page.
_LANES: tuple[type[Decoder], ...] = (
    VanillaAR,
    Jacobi,
    FixedPoint,
    SJD,
    SCD,
    RelaxedSJD,
    GSD,
    Lantern,
    SJDPAC,
    ZipAR,
    ASSD,
    Parallel,
)
DECODERS: dict[str, type[Decoder]] = {decoder.name: decoder for decoder in _LANES}
# Those that race unless others are chosen.
DEFAULT = tuple(name for name, decoder in DECODERS.items() if decoder.default)
# Those that race on whole pictures, and on infillings.
WHOLE = tuple(name for name, decoder in DECODERS.items() if not decoder.infills)
FILLING = tuple(name for name, decoder in DECODERS.items() if not decoder.rows)
