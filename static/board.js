// The board: takes in snapshots, keeps them, draws the lanes, and plays the race again.

// Mounts the board in `root`. `watch(callback)` calls back with each snapshot; `stopped(callback)` when the visitor stops.
function mountBoard(root, watch, stopped) {
  const board = root.querySelector(".board");
  const part = (name) => board.querySelector("." + name);
  const race = { seq: -1, lanes: [] };
  const images = new Map(); // strips by their text, decoded
  const look = { layer: "picture", marks: false };
  let snapshot = null;
  let cards = [];
  let clock = "seconds";
  let replay = null; // {from, t}: a replay's start on the page's clock, and how far it has come
  let halted = false;
  let busy = false;
  let stale = false;

  const over = () => ["finished", "stopped"].includes(snapshot.state);

  function take(value) {
    if (!value || (halted && value.seq > 0 && value.seq >= race.seq && value.state !== "stopped")) return;
    const before = snapshot;
    snapshot = value;
    if (remember(race, value)) {
      [halted, replay] = [false, null];
      images.clear();
      cards = makeCards(part("lanes"), part("lane-template"), value.lanes);
      if (value.prompt && part("lanes").getBoundingClientRect().top > 0.6 * innerHeight) board.scrollIntoView();
    }
    announce(before);
    refresh();
  }

  // The visitor stopped: no snapshot will come to say so.
  function halt() {
    if (!snapshot || over() || !snapshot.prompt) return;
    halted = true;
    const end = (lane) => (["racing", "waiting"].includes(lane.state) ? { ...lane, state: "stopped" } : lane);
    snapshot = { ...snapshot, state: "stopped", lanes: snapshot.lanes.map(end) };
    snapshot.lanes.forEach((lane, i) => race.lanes[i].push(entryOf(lane)));
    part("live").textContent = "Race stopped.";
    refresh();
  }

  function announce(before) {
    const was = (i) => before && before.seq < snapshot.seq && before.lanes[i]?.state;
    const news = snapshot.lanes
      .filter((lane, i) => was(i) && was(i) !== lane.state && ["finished", "failed"].includes(lane.state))
      .map((lane) => `${lane.title} ${lane.state} after ${lane.passes} passes, ${inSeconds(lane.seconds)} seconds.`);
    if (snapshot.state === "finished" && before && before.state === "racing") news.push("The race is over.");
    if (news.length) part("live").textContent = news.join(" ");
  }

  // Draws what is newest, once a frame at most; whatever arrived meanwhile is drawn together.
  async function refresh() {
    stale = true;
    if (busy) return;
    busy = true;
    try {
      while (stale) {
        stale = false;
        await draw();
        await new Promise((next) => (document.hidden ? setTimeout(next, 50) : requestAnimationFrame(next)));
      }
    } finally {
      busy = false;
    }
  }

  async function draw() {
    const drawn = snapshot;
    if (replay) {
      replay.t = ((performance.now() - replay.from) / 1000) * pace();
      if (replay.t >= lengthOf(race, clock)) replay = null;
      else stale = true;
    }
    const entries = race.lanes.map((history) => (replay ? entryAt(history, clock, replay.t) : history[history.length - 1]));
    await Promise.all(entries.flatMap((entry) => entry.strips).map((text) => load(text)));
    if (drawn !== snapshot) return void (stale = true);
    drawHead(entries);
    cards.forEach((card, i) => drawCard(card, snapshot.lanes[i], entries[i]));
    drawFinish(part("finish"), snapshot, cards, over() && !replay);
  }

  // By passes a replay takes as long as by seconds.
  const pace = () => (clock === "seconds" ? 1 : lengthOf(race, "passes") / Math.max(0.1, lengthOf(race, "seconds")));

  async function load(text) {
    if (!text || images.has(text)) return;
    const image = new Image();
    image.src = "data:image/webp;base64," + text;
    await image.decode().then(() => images.set(text, image), () => images.set(text, null));
  }

  function drawHead(entries) {
    const state = replay ? "replay" : snapshot.state;
    Object.assign(board.dataset, { state, seq: snapshot.seq, done: Number(over() && !replay) });
    const t = replay ? replay.t : raceClock(entries, clock);
    part("clock-value").textContent = clock === "seconds" ? inSeconds(t) : Math.floor(t);
    part("clock-unit").textContent = clock === "seconds" ? "seconds" : "passes";
    part("prompt").textContent = snapshot.prompt || "Type a prompt, press Race.";
    const facts = [`seed ${snapshot.seed}`, `model ${snapshot.model}`, snapshot.machine, `${snapshot.grid.join(" × ")} tokens`];
    part("meta").textContent = snapshot.prompt ? facts.filter(Boolean).join(" · ") : INTRODUCTION;
    part("pace").textContent = state === "racing" ? SLOWER : "";
    part("note").textContent = snapshot.note;
    part("note").hidden = !snapshot.note;
    part("again").disabled = !over() || lengthOf(race, "passes") === 0;
    part("again").textContent = replay ? "Skip to the finish" : "Play again";
    drawLegend(part("legend"), look, snapshot);
  }

  function drawCard(card, lane, entry) {
    const total = snapshot.grid[0] * snapshot.grid[1];
    card.root.dataset.state = entry.state;
    card.root.dataset.hash = entry.n === total ? hashTokens(lane.tokens, snapshot.digits, total) : "";
    card.part("about").hidden = entry.n > 0;
    card.part("passes").textContent = entry.passes;
    card.part("drafter").textContent = entry.drafter;
    card.part("drafter-row").hidden = !entry.drafter;
    card.part("seconds").textContent = inSeconds(entry.seconds);
    card.part("compression").textContent = entry.passes ? entry.compression.toFixed(2) : "–";
    card.part("progress").firstChild.style.width = `${(100 * entry.n) / total}%`;
    for (const name of ["seconds", "passes"]) {
      const place = entry.state === "finished" && lane.places[name];
      card.part("place-" + name).textContent = place ? ordinal(place) : "";
      card.part("place-" + name).classList.toggle("first", place === 1);
    }
    card.part("error").textContent = lane.error ? `This lane failed: ${lane.error}` : "";
    card.part("error").hidden = !lane.error;
    const label = `${lane.title}: ${Math.floor((10 * entry.n) / total) * 10}% of the picture, ${entry.state}`;
    if (card.canvas.getAttribute("aria-label") !== label) card.canvas.setAttribute("aria-label", label);
    const [rows, columns] = snapshot.grid;
    const cell = Math.max(4, Math.round((card.canvas.clientWidth * devicePixelRatio) / columns));
    if (card.canvas.width !== cell * columns || card.canvas.height !== cell * rows) {
      [card.canvas.width, card.canvas.height] = [cell * columns, cell * rows];
    }
    paintStrips(card.picture, entry.strips, images, snapshot.grid);
    const colours = getComputedStyle(board);
    const ink = colours.getPropertyValue("--ink").trim();
    const line = colours.getPropertyValue("--signal").trim();
    const { top1, tv, status } = lane;
    drawLane(card.canvas, { ...entry, top1, tv, status, picture: card.picture }, snapshot.grid, { ...look, ink, line });
  }

  function press(group, button) {
    for (const other of group) other.setAttribute("aria-pressed", String(other === button));
  }
  const layers = [...board.querySelectorAll("[data-layer]")];
  for (const button of layers) {
    button.addEventListener("click", () => {
      look.layer = button.dataset.layer;
      press(layers, button);
      if (snapshot) refresh();
    });
  }
  const clocks = [...board.querySelectorAll("[data-clock]")];
  for (const button of clocks) {
    button.addEventListener("click", () => {
      clock = button.dataset.clock;
      press(clocks, button);
      if (replay) replay.from = performance.now();
      if (snapshot) refresh();
    });
  }
  part("marks").addEventListener("click", () => {
    look.marks = !look.marks;
    part("marks").setAttribute("aria-pressed", String(look.marks));
    if (snapshot) refresh();
  });
  part("again").addEventListener("click", () => {
    replay = replay ? null : { from: performance.now(), t: 0 };
    refresh();
  });
  new ResizeObserver(() => snapshot && refresh()).observe(part("lanes"));
  new MutationObserver(() => snapshot && refresh()).observe(document.body, { attributeFilter: ["class"] });
  stopped(halt);
  watch(take);
}

const INTRODUCTION =
  "Every lane decodes the same picture with the same model from the same seed, each by its own method, " +
  "and is charged only for its own time.";

const SLOWER = "Lanes take turns here, so the race is shown slower than its clocks.";

function makeCards(container, template, lanes) {
  container.replaceChildren();
  container.style.setProperty("--columns", lanes.length > 6 ? 4 : Math.max(3, lanes.length));
  return lanes.map((lane, i) => {
    const root = template.content.firstElementChild.cloneNode(true);
    const part = (name) => root.querySelector("." + name);
    root.dataset.lane = lane.decoder;
    part("number").textContent = i + 1;
    part("title").textContent = lane.title;
    part("title").title = lane.paper;
    part("badge").textContent = lane.badge;
    part("badge").title = lane.promise;
    part("badge").dataset.badge = lane.badge;
    part("idea").textContent = lane.idea;
    part("paper").textContent = lane.paper;
    container.append(root);
    return { root, part, canvas: part("frame").querySelector("canvas"), picture: document.createElement("canvas") };
  });
}
