"""Glyphs: which emoji the embedded model knows, and their pictures.

A glyph is drawn once from the Noto Color Emoji font (Debian package `fonts-noto-color-emoji`, SIL OFL), cropped to its
ink and scaled to fit a square of `SIDE` pixels. The list is chosen by rule, not by hand: fully qualified emoji without
modifiers, flags, clock faces, signs, smileys and people (too alike at this size), and one of each set of near twins.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import emoji
import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONT = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")
SIDE = 80

_LEFT_OUT = re.compile(
    r"button|arrow|o’clock|thirty|sign\b|symbol|\bface\b|person|\bman\b|woman|women|\bmen\b|hand\b|hands|finger"
    r"|fist|thumb|circle|square|diamond|suit\b|exclamation|question|mark\b|input|mobile|no |moon|people|speaker"
    r"|couple|family|cat with|Japanese|keycap|medal|cross|bust|selfie|foot|leg\b|heavy|\bcheck|letters|sun behind"
    r"|cloud with|volume|-face|Aquarius|Aries|Cancer|Capricorn|Gemini|Leo|Libra|Ophiuchus|Pisces|Sagittarius"
    r"|Scorpio|Taurus|Virgo|breast|elder|file|card|curly|asterisk|recycling|wavy|divide|minus|plus\b|multiply"
    r"|infinity|copyright|registered|calendar|page|bars|closet|restroom|customs|claim|passport|room|om$|khanda"
    r"|menorah|place of|flag|sad|smok|pregnant|diving|hamsa|police officer|guard|baby$|boy|girl|child$|prince"
    r"|superhero|supervill|mage|fairy|vampire|merperson|elf|genie|zombie|detective|construction worker|Claus|angel"
    r"|ninja|biceps|nail|ear\b|nose|deaf|dancing|wrestl|kiss$|speech|bubble\b|cigarette|coffin|middle|knife"
    r"|syringe|pistol|bomb|dagger|blood|underage|trade|star of|wheel of|latin|orthodox|oncoming|closed|lowered"
    r"|locked|chart|globe|yen|euro|pound|banknote|mailbox|envelope|tray|videocassette|dvd|fax"
    r"|(blue|green|orange|note)\s?book|receipt|memo|cinema|wireless|vibration|prohibited|biohazard|radioactive"
    r"|low battery|station|elevator|hole|warning|potable|map of|world map|motorway|railway|tram|rail\b|mahjong"
    r"|joker|collision|dizzy|dashing|sweat|cyclone|vulcan|racing|skier|snowboarder|performing|wales|scotland"
    r"|england|decoration|revolving|hotel|springs|fleur|trident|ballot|construction|luggage|traffic|timer|slider"
    r"|knobs|film|e-mail|zzz|label|tickets?$|information|splatter|fight|link|paperclips|tilted right|pointing"
    r"|gesture|palms|speaking|biting|wheelchair|birth|department|convenience|post office|derelict|with bell"
    r"|bridge at|hindu|shinto|synagogue|mosque|kaaba|wedding|love|crying|pouting|weary|kissing|grinning|tears"
    r"|rolling on|star-struck|disk|trackball|non-|two hearts|growing|beating|light blue|grey heart|brown heart"
    r"|black heart|white heart|dotted|x-ray|bug$|microbe|landslide|headstone|urn|stuffed|flatbread|teacup"
    r"|root vegetable|mate$|tamale|falafel|oden|dango|fondue|custard|petri|briefs|bikini|shorts|departure"
    r"|small airplane|arrival|alien monster|hair|clamp|bandage|chains|eraser|empty nest|hammer and|notes|score"
    r"|pushpin|paperclip|safety|needle|roll of|^salt|-no-|cane$|wastebasket|net with|studio|video|cricket game"
    r"|umbrella |crutch|plunger|monarch|minibus|lab coat|old key|shower|boar$|scooter|office|pick$|martial|nesting"
    r"|heart with"
)


@functools.cache
def font() -> ImageFont.FreeTypeFont:
    """The emoji font at its only bitmap size. Raises FileNotFoundError, naming the package, where it is missing."""
    if not FONT.exists():
        raise FileNotFoundError(f"{FONT} is missing: apt-get install fonts-noto-color-emoji")
    return ImageFont.truetype(str(FONT), 109)


def draw(text: str) -> np.ndarray | None:
    """One glyph as float32 RGBA [SIDE, SIDE, 4] in 0..1, or None if the font has no single glyph for it."""
    box = font().getbbox(text)
    if not 0 < box[2] - box[0] <= 140:
        return None
    canvas = Image.new("RGBA", (160, 160))
    ImageDraw.Draw(canvas).text((10, 10), text, font=font(), embedded_color=True)
    ink = canvas.getchannel("A").getbbox()
    if ink is None:
        return None
    canvas = canvas.crop(ink)
    scale = SIDE / max(canvas.size)
    size = [max(1, round(side * scale)) for side in canvas.size]
    # Premultiplied, so that the invisible pixels' colour does not bleed into the edge.
    pixels = np.asarray(canvas, np.float32) / 255
    pixels[..., :3] *= pixels[..., 3:]
    planes = [
        np.asarray(Image.fromarray(pixels[..., c]).resize(size, Image.Resampling.LANCZOS)) for c in range(4)
    ]
    glyph = np.zeros((SIDE, SIDE, 4), np.float32)
    top, left = (SIDE - size[1]) // 2, (SIDE - size[0]) // 2
    glyph[top : top + size[1], left : left + size[0]] = np.clip(np.stack(planes, -1), 0, 1)
    return glyph


def candidates() -> dict[str, str]:
    """Name to emoji of everything the naming rule lets in, in the order of their names."""
    found = {}
    for text, data in emoji.EMOJI_DATA.items():
        if data["status"] != emoji.STATUS["fully_qualified"] or "\u200d" in text:
            continue
        if any(0x1F3FB <= ord(c) <= 0x1F3FF or 0x1F1E6 <= ord(c) <= 0x1F1FF for c in text):
            continue
        name = data["en"].strip(":").replace("_", " ")
        if not _LEFT_OUT.search(name):
            found[name.lower().replace("’", "'")] = text
    return dict(sorted(found.items()))


@functools.cache
def glyphs() -> dict[str, np.ndarray]:
    """The glyphs the model knows: name to premultiplied float32 RGBA [SIDE, SIDE, 4], in the order of their names."""
    return {name: glyph for name, text in candidates().items() if (glyph := draw(text)) is not None}
