"""What people call, in everyday words of many languages, what the embedded model has names for; the
words that join things, count them, or say nothing of what is drawn.

Values are phrases between commas. Accents, case and katakana do not matter (see `fold` of
embedded_names): "maca" is maçã. The `emoji` package adds its own names in fourteen languages."""

from __future__ import annotations

THINGS = {  # name: what else it is called, in English; elsewhere
    "airplane": "plane, aeroplane, jet, aircraft; flieger, 飛行機",
    "alarm clock": "clock; uhr, horloge",
    "alien": "martian, extraterrestrial",
    "american football": "rugby ball, rugby",
    "artist": "painter; maler, peintre, pintor, pittore, 画家",
    "artist palette": "palette, paint",
    "astronaut": "spaceman, cosmonaut, space man, space woman; astronauta",
    "automobile": "car, auto, sedan, vehicle; wagen, pkw, voiture, coche, carro, macchina, 车,"
    " 小汽车, 車, くるま, 차, машина, araba, mobil, سيارة, ماشین",
    "baby": "infant, newborn, toddler",
    "backpack": "rucksack, schoolbag, school bag; mochila, sac a dos",
    "balloon": "hot air balloon, air balloon; heissluftballon",
    "bear": "grizzly, brown bear; orso, urso, くま, 곰, медведь, 熊",
    "beer mug": "beer, ale, pint, stein; bier, biere, cerveza, birra, cerveja, пиво, ビール, 맥주",
    "bicycle": "bike, cycle; rad, velo, bici, bicicletta, 单车, 脚踏车, じてんしゃ",
    "bird": "sparrow, robin, songbird, birdie, crow, raven, stork, heron, seagull; oiseau, 小鸟,"
    " とり, 새, kus, burung",
    "birthday cake": "cake; torte, gateau, tarta, torta, bolo, 蛋糕, ケーキ, 케이크, торт, kue",
    "books": "pile of books, stack of books; bucher",
    "bouquet": "bunch of flowers, bouquet of flowers",
    "boy": "kid, child, son, lad, schoolboy, children, kids; ein kind, enfant, nino, ragazzo,"
    " bambino, menino, crianca, 小孩, 孩子, 男の子, 子供, 아이, ребенок, cocuk, anak",
    "bread": "loaf, toast; brot, pain, pane, pao, хлеб, パン, ekmek, roti",
    "bullseye": "target, dartboard, dart",
    "bus": "coach, school bus; autobus",
    "butterfly": "moth; schmetterling, papillon, mariposa, 蝶",
    "camel": "dromedary; kamel, chameau, camello",
    "camera": "photo camera; kamera, appareil photo, camara",
    "candy": "sweets, bonbon, chocolate bar",
    "castle": "palace, fortress, fort; burg, schloss, chateau, castillo, 城堡, 城, お城, 성, замок",
    "cat": "kitty, kitten, feline, tabby, pussycat, kitties; gata, chatte, gatta, gatito, kater,"
    " kaetzchen, katzchen, chaton, micio, 小猫, 子猫, кот, котенок, котик, kucing, قط, قطة, گربه",
    "cheese wedge": "cheese; kase, kaese, fromage, queso, formaggio, queijo, チーズ, 치즈",
    "cherry blossom": "sakura, blossom; 樱花",
    "chicken": "hen, poultry; pollo, にわとり",
    "christmas tree": "xmas tree; weihnachtsbaum, tannenbaum",
    "cityscape": "city, town, skyline, buildings, skyscraper, downtown; stadt, ville, ciudad,"
    " citta, cidade, 城市, 街, 도시, город",
    "classical building": "temple, museum, parthenon, bank",
    "clown face": "clown, joker, jester",
    "cocktail glass": "cocktail, martini",
    "coin": "penny",
    "construction worker": "builder, worker, workman",
    "cook": "chef, baker",
    "cooking": "fried egg, frying pan, pan, omelette, omelet",
    "couch and lamp": "sofa, couch, settee, lamp; 沙发, ソファ, 소파, диван",
    "cow": "bull, ox, cattle, calf; kuh, vache, 牛, うし, 소, sapi, inek, بقرة",
    "crescent moon": "moon, half moon; mond, lune, luna, lua, 月亮, 月, 달, луна, ay, bulan, قمر",
    "crocodile": "alligator, croc, gator",
    "crossed swords": "sword, swords; schwert, epee, espada, spada, 剑, 剣, меч",
    "cup with straw": "soda, cola, coke, juice, lemonade, soft drink, milkshake, smoothie",
    "cupcake": "muffin",
    "cut of meat": "steak, meat, beef",
    "deciduous tree": "tree, oak; baum, arbre, arbol, albero, arvore, 树, 樹, 木, 大树, 나무,"
    " дерево, agac, pohon, شجرة, درخت",
    "deer": "stag, reindeer, doe, elk, moose; reh, hirsch, biche",
    "delivery truck": "truck, lorry, van; lkw, lastwagen, camion, 卡车, トラック",
    "desert island": "island; insel, ile, isla, isola, ilha",
    "desktop computer": "computer, pc, monitor; ordinateur, ordenador, computadora, 电脑",
    "detective": "spy, sherlock, sherlock holmes",
    "dog": "puppy, pup, doggy, doggie, doggo, hound, poodle, corgi, puppies; hundchen, welpe,"
    " chiot, perrito, perra, cao, cachorrinho, cagnolino, 小狗, 犬, 子犬, 강아지, щенок, пес,"
    " kopek, anjing, كلب, سگ",
    "doughnut": "donut, bagel",
    "dove": "pigeon; paloma, pombo",
    "dragon": "wyvern; drache, 龍",
    "dress": "gown, skirt; robe",
    "droplet": "drop, raindrop, water drop, tear",
    "drum": "drums, bongo",
    "duck": "duckling, rubber duck; ente, canard, pato, アヒル, あひる",
    "eagle": "hawk, falcon; adler, aigle, aguila",
    "ear of corn": "corn, maize; mais",
    "egg": "easter egg; ei, oeuf, huevo, uovo, ovo, 鸡蛋, たまご",
    "eggplant": "aubergine",
    "elephant": "mammoth; elefant, 象, 코끼리, fil, gajah",
    "ewe": "sheep, lamb, ram; schaf, mouton, oveja, pecora, ovelha, 羊, 绵羊, ひつじ, 양, овца",
    "eyes": "eye",
    "fallen leaf": "leaf, autumn leaf; blatt, feuille, hoja, foglia, folha",
    "ferris wheel": "big wheel",
    "fire": "flame, flames, bonfire, campfire; feuer, feu, fuego, fuoco, fogo, 火焰",
    "fire engine": "fire truck, firetruck, fire brigade",
    "firefighter": "fireman, firewoman, firemen, fire fighter",
    "fireworks": "firework; 花火, 烟花",
    "fish": "goldfish, salmon, trout, tuna; fisch, poisson, pez, peces, pesce, peixe, さかな,"
    " ikan, balik, рыба, سمكة",
    "flashlight": "torch",
    "flying saucer": "ufo, saucer, spaceship, space ship, alien ship",
    "fox": ";fuchs, renard, zorro, volpe, raposa, きつね, 여우, лиса, tilki, rubah",
    "french fries": "fries, chips",
    "frog": "toad; かえる, 개구리, лягушка, kurbaga, katak",
    "game die": "dice; wurfel",
    "gear": "cog, cogwheel",
    "gem stone": "diamond, gem, jewel, ruby, crystal; diamant, 钻石",
    "ghost": "spirit, phantom, spook; geist",
    "girl": "daughter, schoolgirl, lass; madchen, maedchen, fille, chica, ragazza, bambina,"
    " menina, garota, 女孩子, 女の子, 소녀, девочка, девушка, kiz",
    "glass of milk": "milk; milch, lait, leche, leite, 牛奶, 牛乳",
    "globe showing europe-africa": "earth, globe, world, planet earth; erde, welt, terre, monde,"
    " tierra, mundo, terra, mondo, 地球, 世界, земля, dunya, bumi",
    "goose": "geese",
    "graduation cap": "mortarboard",
    "grapes": "grape, raisins; uva, uvas",
    "guitar": "electric guitar, ukulele; gitar",
    "hamburger": "burger, cheeseburger, big mac",
    "handbag": "purse, bag",
    "hatching chick": "chick, baby chick; kuken, poussin",
    "headphone": "headphones, headset, earphones",
    "health worker": "doctor, nurse, surgeon, medic, physician; arzt, krankenschwester, medecin,"
    " docteur, medico, dottore, infermiera, 医生, врач",
    "high-heeled shoe": "high heel, high heels, heel, heels, stiletto",
    "hippopotamus": "hippo",
    "honey pot": "honey, jar of honey",
    "honeybee": "bee, bumblebee, wasp, hornet",
    "horse": "pony, stallion; pferd, cheval, caballo, cavallo, cavalo, うま, лошадь, конь",
    "hot beverage": "coffee, tea, cup of coffee, cup of tea, cup, mug, teacup, espresso,"
    " cappuccino, latte, hot chocolate, cocoa; kaffee, tee, the vert, cafe, caffe, te, cha, 咖啡,"
    " コーヒー, 커피, кофе, чай, kahve, kopi, tasse, tasse de cafe, taza, xicara",
    "hot pepper": "chili, chilli, chile, pepper, red pepper; paprika",
    "hourglass done": "hourglass, sand timer",
    "house": "home, building, mansion, villa, cottage; haus, maison, casa, 屋子, 房屋, いえ, 家,"
    " дома, домик, ev, rumah, بيت, خانه",
    "hut": "cabin, shack",
    "ice cream": "sundae, gelato, icecream",
    "jack-o-lantern": "pumpkin; kurbis, citrouille, calabaza, zucca, abobora, かぼちゃ, 南瓜",
    "jeans": "pants, trousers",
    "kiwi fruit": "kiwi",
    "lady beetle": "ladybug, ladybird, beetle, bug",
    "laptop": "notebook, macbook",
    "lemon": "lime",
    "light bulb": "bulb, lightbulb, idea",
    "lion": ";lowe, loewe, leon, leone, leao, ライオン, 사자, лев, aslan, singa",
    "lizard": "gecko, chameleon, iguana, salamander",
    "lobster": "crayfish",
    "locked": "lock, padlock",
    "locomotive": "train, steam train, steam engine, steam locomotive, railway; zug, tren, treno,"
    " trem, 火车, 列車, 電車, でんしゃ, 기차, поезд, kereta",
    "mage": "wizard, witch, sorcerer, sorceress, magician, warlock, merlin, gandalf, harry"
    " potter; zauberer, hexe, sorcier, sorciere, magicien, brujo, bruja, strega, bruxa, 魔女,"
    " 巫师",
    "magic wand": "wand",
    "magnifying glass tilted left": "magnifying glass, magnifier; loupe",
    "man": "guy, gentleman, dude, male, men, person, human, people, husband, father, dad, daddy,"
    " businessman; mann, mensch, homme, hombre, uomo, homem, signore, senor, persona, persone,"
    " 人, 男人, 男, おとこ, 남자, 사람, мужчина, человек, adam, pria, orang, رجل, مرد",
    "meat on bone": "drumstick, chicken leg",
    "mermaid": "merman, siren",
    "microphone": "mic",
    "mobile phone": "phone, cell phone, cellphone, smartphone, iphone; handy, movil, cellulare,"
    " celular",
    "money bag": "money, cash, bag of money",
    "monkey": "chimp, chimpanzee, ape; affe, singe, mono, scimmia, macaco, さる",
    "motor scooter": "scooter, vespa, moped",
    "motorcycle": "motorbike, harley; moto",
    "mouse": "rat, mice, rats; ratte, souris, ねずみ, 쥐",
    "movie camera": "video camera, film camera",
    "mushroom": "toadstool, fungus; pilz, champignon, seta, fungo, きのこ",
    "musical note": "music, note",
    "necktie": "tie",
    "old man": "grandpa, grandfather, granddad, grandad, old guy, elderly man; opa, grossvater,"
    " alter mann, grand pere, papi, abuelo, nonno, vovo, 爷爷, дедушка, dede, kakek",
    "old woman": "grandma, grandmother, granny, old lady, elderly woman, elderly lady, nana; oma,"
    " grossmutter, alte frau, grand mere, mamie, abuela, nonna, 奶奶, бабушка, nenek",
    "open book": "book, novel; buch, livre, libro, livro, 本, книга, kitap, buku",
    "paintbrush": "brush",
    "palm tree": "palm, coconut tree",
    "pancakes": "pancake",
    "parrot": "parakeet, macaw",
    "party popper": "confetti, party",
    "peacock": "peafowl",
    "penguin": ";pinguin, pingouin, penguen",
    "person biking": "cyclist, biker, bicyclist, person riding a bike; radfahrer, cycliste,"
    " ciclista",
    "person running": "runner, jogger, person jogging; laufer, coureur, corredor, corridore",
    "person surfing": "surfer",
    "person swimming": "swimmer; schwimmer, nageur, nadador, nuotatore",
    "pickup truck": "pickup, pick up truck, jeep",
    "pig": "hog, piglet, boar; schwein, cochon, cerdo, maiale, porco, ぶた, 小猪",
    "pizza": "slice of pizza, pepperoni",
    "police officer": "policeman, policewoman, cop, police, policemen, sheriff; polizist,"
    " policier, policia, poliziotto",
    "pool 8 ball": "billiard ball, eight ball, 8 ball, magic 8 ball",
    "potted plant": "plant, houseplant, flower pot, flowerpot; pflanze, plante, planta, pianta",
    "princess": "queen",
    "puzzle piece": "puzzle, jigsaw",
    "rabbit": "bunny, hare, easter bunny; hase, kaninchen, lapin, conejo, coniglio, coelho,"
    " うさぎ, 兔, 토끼, кролик, заяц, tavsan, kelinci",
    "raccoon": "racoon",
    "racing car": "race car, sports car, ferrari, lamborghini, porsche, formula 1, f1 car",
    "rainbow": ";regenbogen",
    "red apple": "apple; apfel, pomme, manzana, mela, maca, 苹果, 蘋果, リンゴ, 사과, яблоко,"
    " elma, apel, تفاحة, سیب",
    "red heart": "heart, hearts; herz, coeur, corazon, cuore, coracao, 心, ハート, 하트, сердце,"
    " kalp, hati, قلب",
    "red paper lantern": "lantern, paper lantern",
    "rhinoceros": "rhino",
    "ribbon": "bow",
    "rice ball": "onigiri",
    "ring": "diamond ring, wedding ring",
    "ringed planet": "planet, saturn, jupiter, mars",
    "rocket": "spacecraft, space shuttle, missile",
    "rooster": "cock, cockerel",
    "running shoe": "shoe, sneaker, trainer; boot, schuh, chaussure, zapato, scarpa, sapato",
    "sailboat": "boat, yacht, sailing boat; ein boot, das boot, bateau, barco, barca, 小船, ふね,"
    " 배, лодка, tekne, perahu",
    "santa claus": "santa, father christmas, saint nicholas, st nick",
    "sauropod": "dinosaur, dino, diplodocus, brontosaurus; dinosaurier, dinosaure, dinosaurio,"
    " 恐龙, 恐竜, 공룡, динозавр",
    "scientist": "chemist, professor",
    "seedling": "sprout",
    "ship": "cruise ship, steamship, ferry, titanic, cruise liner",
    "skier": "ski",
    "skull": "skeleton, skulls",
    "smiling face with smiling eyes": "smiley, smiley face, face, smiling face, happy face,"
    " emoji, smile",
    "smiling face with sunglasses": "cool face",
    "snake": "cobra, python, viper; serpent",
    "snow-capped mountain": "mountain, mount everest, everest, alps, peak; berg, montagne,"
    " montana, montagna, montanha, 山, 高山, やま, 산, гора, dag, gunung",
    "snowman": "frosty; schneemann, 雪人, 雪だるま, 눈사람, снеговик",
    "soccer ball": "ball, football, soccer; fussball, fusball, balle, pelota, bola, palla, мяч,"
    " 球, ボール, 공",
    "socks": "sock",
    "soft ice cream": "ice cream cone, ice cream cornet, soft serve",
    "spaghetti": "pasta, noodles, noodle",
    "speedboat": "motorboat",
    "spiral shell": "shell, seashell, conch",
    "star": ";etoile, stern, estrella, stella, estrela, 星, ほし, 별, звезда, yildiz, bintang",
    "steaming bowl": "ramen, soup, bowl of soup, bowl, noodle soup; suppe, soupe, sopa, zuppa",
    "sun": "sunshine; sonne, soleil, sol, sole, たいよう, 해, солнце, gunes, matahari, شمس",
    "sunflower": "flower, daisy; blume, fleur, flor, fiore, 花, 花朵, 꽃, цветок, cicek, bunga,"
    " زهرة",
    "sunglasses": "glasses, shades, eyeglasses, spectacles, goggles",
    "superhero": "superman, batman, spiderman, spider man, hero, superwoman, wonder woman, iron"
    " man",
    "t-rex": "trex, tyrannosaurus, tyrannosaurus rex, godzilla",
    "t-shirt": "shirt, tshirt",
    "tangerine": "mandarin, clementine; apfelsine, naranja, arancia, laranja, オレンジ, 橙子,"
    " апельсин",
    "taxi": "cab",
    "teapot": "kettle",
    "teddy bear": "teddy, plush bear, stuffed bear, toy bear",
    "telephone": "landline, rotary phone",
    "television": "tv, telly; fernseher",
    "tent": "camping tent",
    "tokyo tower": "tower",
    "tooth": "teeth",
    "top hat": "hat; ein hut, der hut, mit hut, mit einem hut, chapeau, sombrero, cappello,"
    " chapeu, 帽子, 모자, шляпа, sapka",
    "trophy": "cup trophy, world cup",
    "turtle": "tortoise",
    "umbrella": "parasol; schirm, parapluie",
    "video game": "gamepad, game controller, joystick, playstation, xbox, controller",
    "wastebasket": "trash, trash can, bin, garbage can",
    "watch": "wristwatch, wrist watch",
    "water wave": "wave, waves, tsunami",
    "whale": "orca, killer whale",
    "wine glass": "wine, glass, glass of wine, red wine; wein, vin, vino, vinho",
    "wolf": "wolves, werewolf, husky",
    "woman": "lady, female, women, wife, mother, mom, mum, mommy, gal, businesswoman, mona lisa;"
    " frau, dame, femme, mujer, donna, mulher, signora, senora, 女人, 女, おんな, 여자, женщина,"
    " kadin, wanita, امرأة, زن",
    "woman dancing": "dancer, ballerina, flamenco dancer, dancing woman; tanzerin, danseuse,"
    " bailarina",
    "wrapped gift": "gift, present, gift box; geschenk, cadeau, regalo, presente",
    "wrench": "spanner",
}

GROUNDS = {  # the first meaning of a phrase stands
    "sky clouds": "sky, blue sky, cloudy sky, in the clouds, above the clouds, over the clouds,"
    " on clouds, on a cloud, on the clouds, on cloud nine, through the clouds; himmel, ciel,"
    " cielo, ceu, 天空, 空, そら, 하늘, небо, небе, gokyuzu, langit, سماء",
    "night stars": "night, in the dark, night sky, starry sky, starry night, stars at night,"
    " space, outer space, galaxy, universe, cosmos, milky way, midnight, under the stars, among"
    " the stars, in the stars; sternenhimmel, nacht, weltraum, weltall, nuit, espace, noche,"
    " espacio, notte, spazio, noite, espaco, 夜, 夜晚, 太空, 宇宙, 星空, 夜空, 밤, 우주, ночь,"
    " ночью, космос, gece, malam",
    "green grass": "grass, meadow, lawn, field, garden, park, forest, woods, jungle, pasture,"
    " farm, prairie, hill, hills, backyard, grassland, green field, green meadow; wiese, gras,"
    " rasen, wald, garten, feld, herbe, foret, jardin, champ, gazon, pelouse, hierba, cesped,"
    " prado, bosque, campo, pasto, erba, prato, bosco, foresta, giardino, grama, floresta,"
    " jardim, relva, 草地, 草原, 草坪, 森林, 花园, 草, 公園, 公园, 森, 잔디, 숲, трава, траве,"
    " лес, лесу, поле, cimen, orman, rumput, hutan",
    "blue water": "water, sea, ocean, lake, river, pond, pool, swimming pool, underwater, under"
    " water, under the sea, under the ocean, under the water, blue sea, blue ocean; meer, wasser,"
    " fluss, mer, eau, lac, riviere, mar, agua, rio, lago, oceano, mare, acqua, fiume, 海, 大海,"
    " 水, 水中, 海洋, 湖, 河, うみ, 바다, 물, море, вода, воде, озеро, deniz, laut, بحر",
    "yellow sand": "sand, beach, desert, dune, dunes, shore, sahara, seaside; strand, wuste,"
    " plage, sable, desierto, playa, spiaggia, sabbia, deserto, praia, areia, 沙滩, 海滩, 沙漠,"
    " 砂浜, 浜辺, 砂漠, 해변, 사막, пляж, пляже, песок, пустыня, kumsal, plaj, pantai, شاطئ",
    "brown earth": "soil, dirt, mud, ground, brown ground; boden, suelo, suolo, 泥土, 地面",
    "white snow": "snow, snowy, ice, winter, arctic, antarctica, north pole, glace neige; schnee,"
    " eis, neige, hiver, nieve, hielo, invierno, neve, ghiaccio, inverno, gelo, 雪, 雪地, 雪中,"
    " 冰, ゆき, 눈, снег, снегу, kar, salju, ثلج",
    "red lava": "lava, magma, hell, inferno",
    "sunset gradient": "sunset, sunrise, dawn, dusk, golden hour, evening, gradient;"
    " sonnenuntergang, coucher de soleil, atardecer, puesta de sol, tramonto, por do sol, 日落,"
    " 夕陽, 夕日, 夕焼け, 일몰, закат",
    "storm clouds": "storm, rain, rainy, thunderstorm, stormy, stormy sky, dark clouds; regen,"
    " sturm, pluie, orage, lluvia, tormenta, pioggia, tempesta, chuva, tempestade, 雨, 暴风雨,"
    " 비, дождь",
    "yellow stripes": "stripes, striped background",
    "grey gradient": "fog, mist, foggy; nebel, brouillard",
    "grey": "gray, street, road, asphalt, pavement, silver; grau, gris, grigio, cinza, 灰色",
    "black": "dark, darkness; schwarz, noir, noire, negro, negra, nero, nera, preto, preta, 黑色,"
    " 黒",
    "white": ";weiss, weisse, blanc, blanche, blanco, blanca, bianco, bianca, branco, branca,"
    " 白色, 白",
    "red": "crimson, scarlet; rot, rote, roter, rotes, roten, rouge, rouges, rojo, roja, rojas,"
    " rosso, rossa, rosse, vermelho, vermelha, vermelhas, 红色, 赤い, 赤, 红, красный, kirmizi,"
    " merah",
    "blue": "turquoise, teal, navy, dark blue; blau, blaue, blauer, bleu, bleue, azul, 蓝色,"
    " 青い, синий",
    "green": "lime green, dark green; grun, grune, gruner, vert, verte, verde, 绿色, 緑",
    "yellow": "gold, golden; gelb, gelbe, jaune, amarillo, amarilla, giallo, gialla, amarelo,"
    " amarela, 黄色, 黄",
    "pink": "magenta; rosa, rosado, 粉色",
    "purple": "violet; lila, morado, viola, roxo, 紫色, 紫",
    "brown": "beige, tan; braun, braune, marron, brun, marrone, marrom",
    "sky blue": "light blue, cyan; hellblau",
}
COLOURS = {  # grounds only behind "on" or before "background"; else how a thing looks
    *("black", "white", "red", "blue", "green", "yellow", "pink", "purple", "orange", "brown"),
    *("grey", "sky blue"),
}
SCENERY = {  # a ground: the thing that it is drawn with where a prompt names that ground alone
    "sky clouds": "airplane",
    "night stars": "crescent moon",
    "green grass": "deciduous tree",
    "blue water": "sailboat",
    "yellow sand": "palm tree",
    "brown earth": "seedling",
    "white snow": "evergreen tree",
    "red lava": "volcano",
    "storm clouds": "umbrella",
    "sunset gradient": "palm tree",
}
