"""The decoders, one file each. A new one is a file and its place in `DECODERS`; lanes, badges,
settings, traces and the exactness tests follow from it."""

from __future__ import annotations

from engine.decoders.ar import VanillaAR
from engine.decoders.base import Decoder
from engine.decoders.fpi import FixedPoint
from engine.decoders.gsd import GSD
from engine.decoders.jacobi import Jacobi
from engine.decoders.lantern import Lantern
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC

# By name, in the order in which lanes stand on the page.
DECODERS: dict[str, type[Decoder]] = {
    decoder.name: decoder for decoder in (VanillaAR, Jacobi, FixedPoint, SJD, GSD, Lantern, SJDPAC)
}
