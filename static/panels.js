// The panels around the lanes: the legend, and the finish with its two strips and its table.

function make(tag, name, text = "") {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

const LAYERS = {
  picture: "Solid: committed, final. Pale in a dashed frame: drafts, which may still change. The line between them is the frontier.",
  top1: "Top-1: how sure the model was, as the probability of its likeliest token. Small squares are drafts.",
  tv: "TV(p, q): how far the draft's law was from the model's, 0 the same, 1 nothing in common. Small squares are drafts; "
    + "a grey stroke means that no draft was judged.",
};

// Says what the colours and shapes mean; rebuilt only when that changes.
function drawLegend(panel, look, snapshot) {
  const forced = snapshot.lanes.some((lane) => lane.status.includes("3"));
  const key = [look.layer, look.marks, forced, ...snapshot.lanes.map((lane) => lane.badge)].join();
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  panel.replaceChildren(make("p", "legend-words", LAYERS[look.layer]));
  const badges = make("ul", "legend-badges");
  for (const badge of new Set(snapshot.lanes.map((lane) => lane.badge))) {
    const item = make("li", "");
    const word = make("span", "badge", badge);
    word.dataset.badge = badge;
    item.append(word, make("span", "", snapshot.lanes.find((lane) => lane.badge === badge).promise));
    badges.append(item);
  }
  if (look.layer !== "picture") {
    const scale = make("div", "scale");
    const bar = make("i", "scale-bar");
    bar.style.background = `linear-gradient(to right, ${SCALES[look.layer].join(",")})`;
    const ticks = make("div", "scale-ticks");
    for (const tick of ["0", "0.25", "0.5", "0.75", "1"]) ticks.append(make("span", "", tick));
    scale.append(bar, ticks);
    panel.prepend(scale);
  }
  panel.append(badges);
  if (!look.marks) return;
  const list = make("ul", "legend-marks");
  for (const status of STATUSES) {
    if (status.name === "forced" && !forced) continue;
    const item = make("li", "");
    const canvas = make("canvas", "");
    [canvas.width, canvas.height] = [36, 36];
    drawMark(canvas.getContext("2d"), status, 18, 18, 10);
    item.append(canvas, make("b", "", status.name), document.createTextNode(" " + status.words));
    list.append(item);
  }
  badges.before(list);
}

// Shown once the race is over; rebuilt once for each race.
function drawFinish(panel, snapshot, cards, shown) {
  panel.hidden = !shown || !snapshot.results.length;
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
      const thumb = make("canvas", "");
      [thumb.width, thumb.height] = [96, 96];
      thumb.getContext("2d").drawImage(cards[i].picture, 0, 0, 96, 96);
      runner.append(thumb);
      track.append(runner);
      const value = clock === "seconds" ? `${inSeconds(lane.seconds)} s` : String(lane.passes);
      row.append(make("b", "rank", String(lane.places[clock] ?? "")), make("span", "name", lane.title), track, make("span", "value", value));
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
    ? ` Here a pass of ${title(widest)} took ${(widest.pass_ms / ar.pass_ms).toFixed(1)} times as long as one of ${title(ar)}.` : "";
  return "Fewer passes are not proportionally fewer seconds. A pass over a window of 64 tokens costs about four passes over a "
    + "single token on a CPU, and almost one on a GPU." + here;
}

const COLUMNS = [
  ["Lane", "", (row, lane) => lane.title],
  ["Badge", "What the lane promises about its picture", (row, lane) => lane.badge + (row.differs === null ? "" : `, but from token ${row.differs} on`)],
  ["Step compression", "Committed tokens per forward pass", (row) => row.compression.toFixed(2)],
  ["Mean acceptance length", "Committed tokens per step, the last sampled token included", (row) => row.length.toFixed(2)],
  ["NFE", "Forward passes of the model, and of its drafter", (row) => row.passes + (row.drafter ? ` + ${row.drafter}` : "")],
  ["Seconds", "On this device", (row) => inSeconds(row.seconds)],
  ["ms per pass", "Everything the lane did, per forward pass", (row) => row.pass_ms.toFixed(1)],
  ["Passes vs AR", "Speed-up over vanilla AR in forward passes", (row) => timesFaster(row.faster.passes)],
  ["Seconds vs AR", "Speed-up over vanilla AR in seconds", (row) => timesFaster(row.faster.seconds)],
];
const timesFaster = (value) => (value === null ? "–" : `${value.toFixed(2)}×`);

function drawTable(table, snapshot) {
  const head = make("tr", "");
  for (const [name, help] of COLUMNS) {
    const cell = make("th", "", name);
    cell.scope = "col";
    cell.title = help;
    head.append(cell);
  }
  const rows = snapshot.results.map((row) => {
    const lane = snapshot.lanes[row.lane];
    const line = make("tr", "");
    for (const [name, , text] of COLUMNS) {
      const cell = make(name === "Lane" ? "th" : "td", "", text(row, lane));
      if (name === "Lane") cell.scope = "row";
      line.append(cell);
    }
    return line;
  });
  table.replaceChildren(head, ...rows);
}
