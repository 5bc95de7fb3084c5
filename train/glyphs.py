"""Glyphs: the emoji that the embedded model knows, and their bitmaps.

A glyph is drawn once from the Noto Color Emoji font (Debian package `fonts-noto-color-emoji`, SIL
OFL), cropped and scaled to fit a square of `SIDE` pixels. The list is hand-picked: well-known
things with a distinct shape; no flags, signs, smileys and people, which are too alike at this size,
and one of each set of look-alikes.
"""

from __future__ import annotations

import functools
from pathlib import Path

import emoji
import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONT = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")
SIDE = 96

NAMES = {
    "animals": """
        bat, bear, bird, butterfly, camel, cat, chicken, cow, crab, crocodile, dog, dolphin,
        dove, dragon, duck, eagle, elephant, ewe, fish, flamingo, fox, frog, giraffe, goat,
        gorilla, hatching chick, hedgehog, hippopotamus, honeybee, horse, jellyfish, kangaroo,
        koala, lady beetle, lion, lobster, monkey, mouse, octopus, owl, panda, parrot,
        peacock, penguin, pig, rabbit, rhinoceros, rooster, sauropod, shark, snail, snake,
        spider, spiral shell, swan, t-rex, tiger, tropical fish, turkey, turtle, unicorn,
        whale, wolf, zebra""",
    "plants": """
        cactus, cherry blossom, christmas tree, deciduous tree, fallen leaf, four leaf clover,
        hibiscus, maple leaf, mushroom, palm tree, potted plant, rose, seedling, sunflower,
        tulip""",
    "fruit and vegetables": """
        avocado, banana, blueberries, broccoli, carrot, cherries, coconut, cucumber, ear of
        corn, eggplant, garlic, grapes, green apple, hot pepper, kiwi fruit, lemon, mango,
        onion, pea pod, peach, pear, pineapple, potato, red apple, strawberry, tangerine,
        tomato, watermelon""",
    "food and drink": """
        bacon, baguette bread, beer mug, birthday cake, bread, bubble tea, candy, cheese
        wedge, chocolate bar, cocktail glass, cookie, croissant, cupcake, cup with straw, cut
        of meat, doughnut, egg, french fries, glass of milk, hamburger, honey pot, hot
        beverage, hot dog, ice cream, lollipop, meat on bone, pancakes, pie, pizza, popcorn,
        pretzel, rice ball, sandwich, soft ice cream, spaghetti, sushi, taco, teapot, tropical
        drink, waffle, wine glass""",
    "vehicles": """
        airplane, ambulance, automobile, bicycle, bus, canoe, delivery truck, fire engine,
        flying saucer, helicopter, locomotive, motorcycle, parachute, police car, racing car,
        rocket, sailboat, satellite, ship, skateboard, speedboat, taxi, tractor""",
    "places and weather": """
        castle, church, circus tent, classical building, cloud, factory, ferris wheel, fire,
        fountain, house, hut, mount fuji, rainbow, ringed planet, school, snow-capped
        mountain, snowflake, snowman, star, statue of liberty, sun, sun with face, tent, tokyo
        tower, volcano, water wave""",
    "things": """
        alarm clock, alien, anchor, artist palette, axe, backpack, balloon, baseball,
        basketball, bed, bell, bone, books, brain, broom, bucket, bullseye, camera, candle,
        chair, coin, compass, crayon, crown, crystal ball, dna, door, dress, drum, eyes,
        flashlight, game die, gear, gem stone, ghost, graduation cap, green heart, guitar,
        hammer, handbag, headphone, high voltage, high-heeled shoe, hourglass done,
        jack-o-lantern, jeans, key, kite, ladder, laptop, light bulb, lipstick, locked, magic wand,
        magnet, magnifying glass tilted left, microphone, microscope, mirror, money bag, movie
        camera, musical note, necktie, newspaper, open book, paintbrush, pencil, pool 8 ball,
        puzzle piece, radio, red heart, red paper lantern, ribbon, ring, robot, roller skate,
        running shoe, saxophone, scarf, scissors, screwdriver, shield, shopping cart, skull,
        soccer ball, socks, spoon, stopwatch, sunglasses, teddy bear, telephone, telescope,
        television, tennis, toilet, toolbox, tooth, top hat, trophy, trumpet, t-shirt, umbrella,
        video game, violin, volleyball, wastebasket, watch, wrapped gift, wrench""",
}


@functools.cache
def font() -> ImageFont.FreeTypeFont:
    """The emoji font at its only bitmap size. Raises FileNotFoundError, naming the package, where
    it is missing."""
    if not FONT.exists():
        raise FileNotFoundError(f"{FONT} is missing: apt-get install fonts-noto-color-emoji")
    return ImageFont.truetype(str(FONT), 109)


def draw(text: str) -> np.ndarray | None:
    """One glyph as float32 RGBA [SIDE, SIDE, 4] in 0..1, or None if the font has no single glyph
    for it."""
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
        np.asarray(Image.fromarray(pixels[..., c]).resize(size, Image.Resampling.LANCZOS))
        for c in range(4)
    ]
    glyph = np.zeros((SIDE, SIDE, 4), np.float32)
    top, left = (SIDE - size[1]) // 2, (SIDE - size[0]) // 2
    glyph[top : top + size[1], left : left + size[0]] = np.clip(np.stack(planes, -1), 0, 1)
    return glyph


@functools.cache
def glyphs() -> dict[str, np.ndarray]:
    """The glyphs the model knows: name to premultiplied float32 RGBA [SIDE, SIDE, 4], in the order
    of their names.

    Raises ValueError where the font or the `emoji` package lacks one."""
    wanted = {" ".join(name.split()) for group in NAMES.values() for name in group.split(",")}
    found: dict[str, np.ndarray] = {}
    for text, data in emoji.EMOJI_DATA.items():
        name = data["en"].strip(":").replace("_", " ").lower().replace("’", "'")
        if (
            name in wanted
            and data["status"] == emoji.STATUS["fully_qualified"]
            and (glyph := draw(text)) is not None
        ):
            found[name] = glyph
    if missing := sorted(wanted - found.keys()):
        raise ValueError(f"no glyph for: {', '.join(missing)}")
    return dict(sorted(found.items()))
