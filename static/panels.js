// The panels around the lanes: a lane's card, the legend, the scrubber's flags, and the finish with its strips and its table.

function make(tag, name, text = "") {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

// Writes a text or an attribute only where it has changed: the board is drawn up to sixty times a second.
function say(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}
function attribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

// One card a lane; its parts are found once.
function makeCards(container, template, lanes, pictures) {
  container.replaceChildren();
  return lanes.map((lane, i) => {
    const root = template.content.firstElementChild.cloneNode(true);
    const parts = {};
    const part = (name) => (parts[name] ??= root.querySelector("." + name));
    root.dataset.lane = lane.decoder;
    part("number").textContent = i + 1;
    part("number").title = `Hide this lane (${i + 1})`;
    part("number").setAttribute("aria-label", `Hide ${lane.title}`);
    part("title").textContent = lane.title;
    part("title").title = lane.paper;
    part("badge").textContent = lane.badge;
    part("badge").title = lane.promise;
    part("badge").dataset.badge = lane.badge;
    part("idea").textContent = lane.idea;
    part("paper").textContent = lane.paper;
    part("post").title = "Jump to this lane's finish";
    part("post").setAttribute("aria-label", `Jump to the finish of ${lane.title}`);
    container.append(root);
    const [picture, plane] = [pictures[i], new Plane(pictures[i])];
    return { root, part, canvas: part("frame").querySelector("canvas"), picture, plane, side: 4 };
  });
}

// The figures of a lane's card as `view` has them.
function drawCard(card, lane, view, cells, clock) {
  const [tokens, marks] = hashesOf(lane, view);
  Object.assign(card.root.dataset, { state: view.state, step: view.k, n: view.n, hash: tokens, marks });
  const finished = view.state === "finished";
  card.part("about").hidden = view.n > 0;
  say(card.part("passes"), view.passes);
  say(card.part("drafter"), draftsOf(lane, view));
  card.part("drafter-row").hidden = !draftsOf(lane, view);
  say(card.part("seconds"), inSeconds(view.seconds));
  say(card.part("compression"), view.passes ? view.compression.toFixed(2) : "–");
  card.part("progress").firstElementChild.style.width = `${(100 * view.n) / cells}%`;
  for (const name of ["seconds", "passes"]) {
    const place = finished && lane.places[name];
    say(card.part("place-" + name), place ? ordinal(place) : "");
    card.part("place-" + name).classList.toggle("first", place === 1);
  }
  say(card.part("stamp"), finished ? finishWords(lane, clock) : "");
  card.part("post").disabled = lane.state !== "finished";
  say(card.part("error"), lane.error ? `This lane failed: ${lane.error}` : "");
  card.part("error").hidden = !lane.error;
  const share = Math.floor((10 * view.n) / cells) * 10;
  attribute(card.canvas, "aria-label", `${lane.title}: ${share}% of the picture, ${view.state}`);
}

// Who drafts in a lane whose drafts may be a network's. Its first step has no drafts yet, so until the second nobody can say.
function draftsOf(lane, view) {
  if (lane.drafter) return `EAGLE, ${view.drafter} pass${view.drafter === 1 ? "" : "es"}`;
  return lane.decoder === "lantern" && lane.count > 1 ? "Jacobi" : "";
}

// What a photo finish notes at a lane: its place and its time.
function finishWords(lane, clock) {
  const time = clock === "seconds" ? `${inSeconds(clockOf(lane, clock))} s` : `${clockOf(lane, clock)} passes`;
  return [lane.places[clock] && ordinal(lane.places[clock]), time].filter(Boolean).join("  ");
}

// The flags of the lanes that have finished, over the scrubber; made again only when one has.
function drawFlags(panel, race, clock, length) {
  const done = finishers(race.lanes, clock);
  const key = [clock, length, ...done].join();
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  let [edge, level] = [-Infinity, 0];
  panel.replaceChildren(...done.map((i) => {
    const share = length ? Math.min(1, clockOf(race.lanes[i], clock) / length) : 0;
    const flag = make("i", share > 0.97 ? "flag inwards" : "flag");
    flag.append(make("b", "", i + 1));
    flag.style.left = `${100 * share}%`;
    level = share - edge < 0.05 ? (level + 1) % 3 : 0; // neighbours stand on one another's shoulders
    flag.style.setProperty("--level", level);
    edge = share;
    return flag;
  }));
}

// Says what the colours and shapes mean, in numbers; rebuilt only when that changes.
function drawLegend(panel, layer, race) {
  const { lanes } = race.snapshot;
  const range = layer.kind === "count" ? rangeOf(race, layer.name) : [0, 1];
  const key = [layer.name, ...range, ...lanes.map((lane) => lane.badge)].join();
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  const badges = make("ul", "legend-badges");
  for (const badge of new Set(lanes.map((lane) => lane.badge))) {
    const item = make("li", "");
    const word = make("span", "badge", badge);
    word.dataset.badge = badge;
    item.append(word, make("span", "", lanes.find((lane) => lane.badge === badge).promise));
    badges.append(item);
  }
  const drafts = ["share", "count"].includes(layer.kind) && layer.name !== "strips" ? " Small squares are drafts." : "";
  const words = make("p", "legend-words", layer.words + drafts);
  const scale = { picture: () => [], status: () => [statusLegend()], share: () => [shareLegend(layer)],
    count: () => [countLegend(layer, range)] }[layer.kind]();
  panel.replaceChildren(...scale, words, badges);
}

function shareLegend(layer) {
  const scale = make("div", "scale");
  const bar = make("i", "scale-bar");
  bar.style.background = `linear-gradient(to right, ${SCALES[layer.scale].join(",")})`;
  const ticks = make("div", "scale-ticks");
  for (const tick of ["0", "0.25", "0.5", "0.75", "1"]) ticks.append(make("span", "", tick));
  scale.append(bar, ticks);
  const row = make("div", "scales");
  row.append(scale);
  if (layer.name !== "top1") row.append(noValue("no draft was judged"));
  return row;
}

// A box for each integer, or, where there are many, for some from the least to the greatest.
function countLegend(layer, range) {
  const row = make("div", "scales counts");
  for (const count of ticksOf(range)) {
    const item = make("span", "count");
    const box = make("i", "");
    box.style.background = `rgb(${colourOf(layer.scale, countShare(count, range))})`;
    item.append(box, document.createTextNode(count));
    row.append(item);
  }
  row.append(make("span", "unit", layer.unit));
  if (layer.name === "strips") row.append(noValue("not committed"));
  return row;
}

// At most nine integers of a range, evenly spaced on its scale, both ends among them.
function ticksOf([low, high]) {
  const many = Math.min(8, high - low);
  const at = (i) => Math.round(low + (1 + high - low) ** (i / many) - 1);
  return [...new Set(Array.from({ length: many + 1 }, (_, i) => (high - low <= 8 ? low + i : at(i))))];
}

function noValue(words) {
  const item = make("span", "count");
  const canvas = sized(make("canvas", ""), 36, 36);
  const pen = canvas.getContext("2d");
  pen.fillStyle = hatch(pen, 36);
  pen.fillRect(0, 0, 36, 36);
  item.append(canvas, document.createTextNode(words));
  return item;
}

function statusLegend() {
  const list = make("ul", "legend-marks");
  for (const status of STATUSES) {
    const item = make("li", "");
    const canvas = sized(make("canvas", ""), 40, 40);
    drawMark(canvas.getContext("2d"), status, 20, 20, 20);
    item.append(canvas, make("b", "", status.name), document.createTextNode(" " + status.words));
    list.append(item);
  }
  return list;
}

// Shown once the race is over; rebuilt once for each race.
function drawFinish(panel, snapshot, cards, over) {
  panel.hidden = !over || !snapshot.results.length;
  if (panel.hidden) return void delete panel.dataset.built;
  if (panel.dataset.built) return;
  panel.dataset.built = "1";
  for (const clock of ["seconds", "passes"]) {
    const furthest = Math.max(...snapshot.lanes.map((lane) => lane[clock])) || 1;
    const rows = finishers(snapshot.lanes, clock).map((i) => {
      const lane = snapshot.lanes[i];
      const row = make("li", "");
      const track = make("span", "track");
      const runner = make("span", "runner");
      runner.style.left = `${(100 * lane[clock]) / furthest}%`;
      const thumb = sized(make("canvas", ""), 96, 96);
      thumb.getContext("2d").drawImage(cards[i].picture.canvas, 0, 0, 96, 96);
      runner.append(thumb);
      track.append(runner);
      const value = clock === "seconds" ? `${inSeconds(lane.seconds)} s` : String(lane.passes);
      const rank = make("b", "rank", String(lane.places[clock] ?? ""));
      row.append(rank, make("span", "name", lane.title), track, make("span", "value", value));
      return row;
    });
    panel.querySelector(".by-" + clock).replaceChildren(...rows);
  }
  panel.querySelector(".why").textContent = whySentence(snapshot);
  drawTable(panel.querySelector(".results"), snapshot);
}

// Why the two orders differ, with the figures of this race where it has them.
function whySentence(snapshot) {
  const title = (row) => snapshot.lanes[row.lane].title;
  const ar = snapshot.results.find((row) => snapshot.lanes[row.lane].decoder === "ar");
  const widest = [...snapshot.results].sort((a, b) => b.pass_ms - a.pass_ms)[0];
  const here = ar && widest !== ar
    ? ` Here a pass of ${title(widest)} took ${(widest.pass_ms / ar.pass_ms).toFixed(1)} times as long as one of ${title(ar)}.`
    : "";
  return "Fewer passes are not proportionally fewer seconds. A pass over a window of 64 tokens costs about four passes over "
    + "a single token on a CPU, and almost one on a GPU." + here;
}

const TABLE = [
  ["Lane", "", (row, lane) => lane.title],
  ["Badge", "What the lane promises about its picture",
    (row, lane) => lane.badge + (row.differs === null ? "" : `, but from token ${row.differs} on`)],
  ["Step compression", "Committed tokens per forward pass", (row) => row.compression.toFixed(2)],
  ["Mean acceptance length", "Committed tokens per step, the last sampled token included", (row) => row.length.toFixed(2)],
  ["NFE", "Forward passes of the model, and of its drafter", (row) => [row.passes, row.drafter].filter(Boolean).join(" + ")],
  ["Seconds", "On this device", (row) => inSeconds(row.seconds)],
  ["ms per pass", "Everything the lane did, per forward pass", (row) => row.pass_ms.toFixed(1)],
  ["Passes vs AR", "Speed-up over vanilla AR in forward passes", (row) => timesFaster(row.faster.passes)],
  ["Seconds vs AR", "Speed-up over vanilla AR in seconds", (row) => timesFaster(row.faster.seconds)],
];
const timesFaster = (value) => (value === null ? "–" : `${value.toFixed(2)}×`);

function drawTable(table, snapshot) {
  const head = make("tr", "");
  for (const [name, help] of TABLE) {
    const cell = make("th", "", name);
    cell.scope = "col";
    cell.title = help;
    head.append(cell);
  }
  const rows = snapshot.results.map((row) => {
    const lane = snapshot.lanes[row.lane];
    const line = make("tr", "");
    for (const [name, , text] of TABLE) {
      const cell = make(name === "Lane" ? "th" : "td", "", text(row, lane));
      if (name === "Lane") cell.scope = "row";
      line.append(cell);
    }
    return line;
  });
  table.replaceChildren(head, ...rows);
}
