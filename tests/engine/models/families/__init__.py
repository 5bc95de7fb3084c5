"""Every family's models at a tiny size, for the contract that all of them keep: a new family is a
file here and an entry in TINY."""

from __future__ import annotations

from tests.engine.models.families.chameleon import ANOLE, LUMINA
from tests.engine.models.families.embedded import TinyEmbedded
from tests.engine.models.families.emu3 import TinyEmu3
from tests.engine.models.families.janus import TinyJanus
from tests.engine.models.families.llamagen import TinyLlamaGen
from tests.engine.models.families.llamagen_class import TinyLlamaGenClass
from tests.engine.models.families.randar import TinyRandAR
from tests.engine.models.families.simplear import TinySimpleAR
from tests.engine.models.families.tiny import Tiny
from tests.variants import further

JANUS, EMU3, LLAMAGEN, RANDAR = TinyJanus(), TinyEmu3(), TinyLlamaGen(), TinyRandAR()
LLAMAGEN_CLASS, SIMPLEAR = TinyLlamaGenClass(), TinySimpleAR()
# Those that read tokens alone and predict the next one.
RASTER: dict[str, Tiny] = {
    tiny.card.name: tiny
    for tiny in (TinyEmbedded(), LLAMAGEN_CLASS, JANUS, LLAMAGEN, SIMPLEAR, EMU3, ANOLE, LUMINA)
}
TINY = RASTER | {RANDAR.card.name: RANDAR}
# For a parameter: the embedded one and one whose rows end in tokens of no cell; all in test-exact.
_FIRST = ("embedded", "lumina-768")
NAMES = [*_FIRST, *further(*(name for name in TINY if name not in _FIRST))]
PUBLIC = {name: tiny for name, tiny in TINY.items() if tiny.card.repos}
