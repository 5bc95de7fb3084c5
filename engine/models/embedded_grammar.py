"""Words of many languages that join, count or place what a prompt names, and some that name
nothing. Spelt as `fold` of embedded_names spells them; values are phrases between commas."""

from __future__ import annotations

ABOVE = (  # "A above B"
    "above, over, on, on top of, atop, upon, onto, riding, riding on, rides, rides on, ride,"
    " driving, sitting on, standing on, sitting on top of, standing on top of, against, uber,"
    " ueber, auf, oberhalb, reitet, reitet auf, sur, dessus, au dessus de, au dessus d, au dessus"
    " du, sobre, encima de, encima del, por encima de, arriba de, sopra, sul, sulla, sullo, su,"
    " su un, su una, acima de, acima do, acima da, em cima de, em cima do, em cima da, над, на,"
    " 骑, 骑着, 上面, 上方, 之上, 上, 위, 위에, 위의, di atas, ustunde, uzerinde, فوق, على, روی,"
    " の下の, の下に, のしたの, のしたに, の下で, 下的"
)
BELOW = (  # "A below B"
    "below, under, beneath, underneath, unter, unterhalb, unten, sous, au dessous de, en dessous"
    " de, debajo de, debajo del, bajo, sotto, sotto a, abaixo de, abaixo do, abaixo da, embaixo"
    " de, sob, debaixo de, под, 下面, 下方, 之下, 下, 上的, の上の, の上に, のうえの, のうえに,"
    " の上で, 아래, 밑에, di bawah, altinda, تحت, زیر, ridden by"
)
RIGHT = (  # "A to the right of B"
    "right of, to the right of, on the right of, on the right side of, rechts von, a droite de,"
    " a la derecha de, a destra di, a direita de"
)
LINK = (  # side by side; the noun before does not belong to the noun behind
    "and, &, with, next to, beside, besides, near, by, plus, versus, vs, or, in, inside, into,"
    " at, to, from, behind, in front of, between, around, along, alongside, among, through,"
    " across, who, which, that, as, for, left of, to the left of, together with, next, sitting"
    " next to, sitting in, while, wearing, wears, und, mit, neben, bei, vor, hinter, oder, im,"
    " am, in der, in dem, zwischen, links von, et, avec, a cote de, a cote d, a cote du, pres de,"
    " pres d, pres du, devant, derriere, dans, ou, au, aux, y, e, con, junto a, al lado de, cerca"
    " de, delante de, detras de, en, o, vicino a, accanto a, accanto al, ed, davanti a, nel,"
    " nella, nello, com, ao lado de, ao lado do, ao lado da, perto de, em, no, na, nos, nas, num,"
    " numa, и, с, со, рядом с, в, во, у, или, около, 和, 与, 跟, と, や, に, 在, 里, 中, 旁边,"
    " 与, 의 옆에, 옆에, 와, 과, 하고, 에서, 에, ve, ile, yaninda, dan, dengan, di, di sebelah,"
    " pada, و, مع, بجانب, في, با, در, کنار"
)
GLUE = (  # says nothing of what is drawn
    "a, an, the, of, is, are, was, were, be, being, am, i, me, my, you, your, his, her, its,"
    " their, our, it, he, she, they, we, this, these, those, there, here, some, any, one of,"
    " please, pls, plz, draw, show, make, create, generate, paint, render, give, want, wants,"
    " would, like, to see, see, can, could, let, us, picture, pic, image, photo, photograph,"
    " drawing, painting, illustration, sketch, portrait, view, scene, picture of, of the, very,"
    " really, so, too, just, also, then, once, upon a time, once upon a time, has, have, had,"
    " having, do, does, im, hello, hi, hey, thanks, thank, side, side by side, the side of,"
    " corner, part, half, all, each, every, other, another, own, who is, that is, which is,"
    " sitting, sits, sat, standing, stands, lying, lies, laying, lays, resting, placed, perched,"
    " positioned, located, slice of, piece of, bunch of, pile of, group of, not, no text, where,"
    " when, what, how, if, but, up, down, out, s, t, d, l, x, m, ll, teh, ve, re, der, die, das,"
    " den, dem, des, ein, eine, einer, eines, einem, einen, ist, sind, von, vom, zum, zur, es,"
    " ich, mein, meine, mio, mia, mes, bitte, zeichne, mir, bild, bild von, le, la, les, un, une,"
    " du, de, des, est, sont, qui, il, elle, mon, ma, mes, photo de, image de, el, los, las, lo,"
    " unos, unas, del, al, que, esta, mi, su, una foto de, il, lo, gli, i, uno, una, di, del,"
    " della, dello, dei, che, da, per, os, as, um, uma, do, dos, das, meu, minha, foto, imagen,"
    " imagem, das, это, я, мой, моя, нарисуй, 的, の, が, は, を, い, も, です, いる, ある, 一个,"
    " 画, 请, 我, 是, 有, 了, 着, 这, 那, 그림, 그려줘, bir, bu, sebuah, seekor, seorang, yang,"
    " gambar, یک, من, هذا, صورة"
)
COUNTS = {
    1: "one, single, lone, eins, один, одна, одно, 一只, 一個, 一匹, 하나, 한",
    2: "two, couple, couple of, pair of, twin, double, zwei, ein paar, deux, dos, due, dois,"
    " duas, два, две, 两, 兩, 二, 双, 둘, 두, iki, dua, اثنان, دو",
    3: "three, few, several, triple, trio of, drei, trois, tres, tre, três, три, 三, 셋, 세, uc,"
    " tiga, ثلاثة, سه",
    4: "four, many, lots of, a lot of, loads of, vier, quatre, cuatro, quattro, quatro, четыре,"
    " 四, 넷, 네, dort, empat, أربعة, چهار, viele, beaucoup de, muchos, muchas, molti, molte,"
    " muitos, muitas",
    5: "five, funf, cinq, cinco, cinque, пять, 五, 다섯, bes, lima",
    6: "six, sechs, seis, sei, шесть, 六, 여섯",
    7: "seven, sieben, sept, siete, sette, sete, семь, 七, 일곱",
    8: "eight, acht, huit, ocho, otto, oito, восемь, 八, 여덟",
    9: "nine, neun, neuf, nueve, nove, девять, 九",
    10: "ten, zehn, dix, diez, dieci, dez, десять, 十",
    12: "twelve, dozen, dozen of, a dozen of",
    20: "twenty",
    100: "hundred, hundreds of",
    1000: "thousand, thousands of",
}
COUNTERS = "只隻個个匹头頭条條朵辆輛本杯位名座棵颗羽台枚つ冊張张把块塊"
PLACES = {  # of the model: what else it is called
    "top": "upper, upper part, oben, en haut, arriba, in alto, no topo, top side",
    "bottom": "lower, lower part, en bas, abajo, in basso",
    "left": "left side, left hand side, left corner, links, a gauche, gauche, izquierda,"
    " sinistra, a sinistra, a la izquierda, esquerda, 左边",
    "right": "right side, right hand side, right corner, rechts, a droite, droite, derecha, a"
    " destra, a la derecha, direita, 右边",
    "centre": "center, middle, mitte, milieu, centro",
    "top left": "upper left, left top, top left hand, oben links",
    "top right": "upper right, right top, top right hand, oben rechts",
    "bottom left": "lower left, left bottom, unten links",
    "bottom right": "lower right, right bottom, unten rechts",
}
ELSEWHERE = (  # words of no English prompt: names in other languages may be inflected
    "au auf aux avec bajo bir cinco cinq cinque com con cuatro dan dans das del della der des"
    " deux di dois dos drei du dua duas due ein eine einem einen einer el em et funf gli iki il"
    " im las le les lo los ma mein meine mes meu mi mia minha mio mit mon na nel os quatre"
    " quattro seekor sobre sotto sous su sul sulla sur tiga tre tres trois uber uc um uma un una"
    " und une uno unos unter ve vier y zwei zwischen"
)
BACKDROP = (
    "background, backdrop, bg, backround, wall, sheet, hintergrund, fond, fondo, sfondo, fundo"
)
ACTIVITIES = {  # what a person does: the thing that shows one doing it
    "person running": "running, jogging, runs, jogs, sprinting, rennt, court, corriendo",
    "person surfing": "surfing, surfs",
    "person swimming": "swimming, swims, schwimmt, nage, nadando",
    "person biking": "biking, cycling, bikes, cycles, bicycling",
    "skier": "skiing, skis",
    "snowboarder": "snowboarding",
    "woman dancing": "dancing, dances",
    "artist": "painting a picture",
}
PEOPLE = frozenset(["man", "woman", "boy", "girl", "old man", "old woman", "person running"])
WORN = frozenset(["top hat", "crown", "graduation cap", "headphone"])  # above who wears it
WEARING = frozenset(["wearing", "wears"])
PAIRS = frozenset(["socks", "scissors", "jeans", "sunglasses", "eyes"])  # a pair of them is one
# Nouns that say what kind of thing the noun behind them is: "fire dragon", "apple pie".
KINDS = (
    "alien apple baby bacon banana beer birthday blueberry boy bread bus candy car carrot castle"
    " cheese cherry chicken chocolate christmas church circus coconut coffee corn cow dragon egg"
    " fire fish flower football fruit garlic ghost girl glass gold golden guitar honey horse"
    " house ice kid lady lemon lime lion man mango meat milk moon mountain mushroom ninja onion"
    " orange paint paper peach pear people person pineapple pirate pizza police potato pumpkin"
    " rainbow robot rose school sea shark ship snake snow space star strawberry sun sunset"
    " superhero tea tennis tiger tomato toy train tree water watermelon wedding wine woman zombie"
)
# English words that are no names, though one letter from one or a name in another language.
OTHERS = (
    "ail ails anes angle api apply art artistic ash asher back backward baked bar bars bead beard"
    " bearer belly bench block bloom board boom braid break broad brook bully bush came canon"
    " chain char chariot check chibi chief chill choir clash class click cloak coal compute cough"
    " crane crash crook crowd cut daily dance danger dessert dirty disco done donor"
    " drawn dressed ear engine fair fairly fare feather feathers filled flaming former frame"
    " frames fried frost furry grace graph graphic graphs grave gravy greek greet gross grown"
    " hear heard heat horned hose ideal joke juicy kinds lasso late leader lit little"
    " locker looked maintain mama maple marks marsh martial maze meant media meta misty month"
    " motor mousse mouth moved mummy musician painted pant partly parts pastel peace pearl piece"
    " pieces place plan plank plans plate point polite polo poppy pot pound preach prevent print"
    " pure puzzled racket rates ratio rider root sack sail sake salon sauce scar scare"
    " scary score sell shade shake shall shapes share shares sharp sheer sheets shelf shift short"
    " since skeletal skills slack sleep slider smell smiled snack snarl soon sore spare spark"
    " speak speaker spell spice spooky stable stack stage stain stair stake stand stare start"
    " steal steam steep stock stone stones store story strides striped stripped strips"
    " suffer sunny super surprise sweat sweep swept tell tells timer touch tout towel track trail"
    " trailer trained trick trigger trunk using value video waiter whole winner wood word words"
    " worked write"
)
