// Reading what the board is sent: digits, colours, the order of a race, and where each lane stood at any instant.
// Nothing here touches the page. The text is pasted in front of board.js; under node it is a module.

// Both scales are perceptually uniform and safe for the colour-blind: stops of plotly.colors.sequential.Viridis, .Cividis.
const SCALES = {
  top1: ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
  tv: ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"],
};

// The engine's statuses, by their number. Colours are Okabe and Ito's; shapes are drawn by board.js.
const STATUSES = [
  { name: "accepted", shape: "dot", colour: "#56b4e9", words: "the draft passed" },
  { name: "resampled", shape: "triangle", colour: "#e69f00", words: "the draft was refused, another token drawn in its place" },
  { name: "fresh", shape: "ring", colour: "#009e73", words: "drawn without a draft" },
  { name: "forced", shape: "square", colour: "#999999", words: "fixed by the model's layout" },
  { name: "refined", shape: "dash", colour: "#f0e442", words: "still a draft, kept or redrawn" },
  { name: "rejected", shape: "cross", colour: "#d55e00", words: "the draft was refused, the cell is still open" },
];

// A number from `width` hex digits at the given cell.
const numberAt = (text, cell, width) => parseInt(text.slice(cell * width, (cell + 1) * width), 16);

// A share from two hex digits, "00" to "fe" for 0 to 1; null for "ff", where there is none.
function shareAt(text, cell) {
  const value = numberAt(text, cell, 2);
  return value === 255 || Number.isNaN(value) ? null : value / 254;
}

// The colour of a share on a scale, as [red, green, blue].
function colourOf(scale, share) {
  const stops = SCALES[scale];
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return [1, 3, 5].map((i) => {
    const [a, b] = [stops[low], stops[low + 1]].map((stop) => parseInt(stop.slice(i, i + 2), 16));
    return Math.round(a + (b - a) * (at - low));
  });
}

// FNV-1a, 32 bits, over the first n tokens as 4 bytes each, little-endian.
function hashTokens(text, digits, n) {
  let value = 0x811c9dc5;
  for (let cell = 0; cell < n; cell++) {
    const token = numberAt(text, cell, digits);
    for (let shift = 0; shift < 32; shift += 8) value = Math.imul(value ^ ((token >>> shift) & 255), 0x01000193) >>> 0;
  }
  return value.toString(16).padStart(8, "0");
}

// What the page keeps of a lane for one instant. Committed strings only grow, so a prefix of the latest serves every instant.
function entryOf(lane) {
  const { n, passes, drafter, seconds, compression, state, window, strips } = lane;
  return { n, passes, drafter, seconds, compression, state, window, strips };
}

// Adds a snapshot to the race's history {seq, lanes: [entries]}; begins afresh with a new race, whose seq starts from 0.
function remember(race, snapshot) {
  const fresh = snapshot.seq === 0 || snapshot.seq < race.seq || race.lanes.length !== snapshot.lanes.length;
  if (fresh) race.lanes = snapshot.lanes.map(() => []);
  race.seq = snapshot.seq;
  snapshot.lanes.forEach((lane, i) => {
    const last = race.lanes[i][race.lanes[i].length - 1];
    if (!last || lane.passes !== last.passes || lane.state !== last.state) race.lanes[i].push(entryOf(lane));
  });
  return fresh;
}

// The last entry of a lane's history whose clock ("seconds" or "passes") had not passed t.
function entryAt(history, clock, t) {
  let [low, high] = [0, history.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (history[middle][clock] <= t) low = middle;
    else high = middle - 1;
  }
  return history[low];
}

// How far a replay runs: the slowest lane's clock.
const lengthOf = (race, clock) => Math.max(0, ...race.lanes.map((history) => history[history.length - 1][clock]));

// The race's clock: the running lane that is furthest behind, or the last to finish.
function raceClock(lanes, clock) {
  const running = lanes.filter((lane) => lane.state === "racing");
  if (running.length) return Math.min(...running.map((lane) => lane[clock]));
  return Math.max(0, ...lanes.map((lane) => lane[clock]));
}

// Lanes that have finished, in the order of a clock, as indices.
function finishers(lanes, clock) {
  const done = lanes.map((lane, i) => i).filter((i) => lanes[i].state === "finished");
  return done.sort((a, b) => lanes[a][clock] - lanes[b][clock]);
}

const ordinal = (n) => n + (["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] || "th");
const inSeconds = (value) => (value < 10 ? value.toFixed(3) : value.toFixed(2));

if (typeof module !== "undefined") {
  module.exports = {
    SCALES, STATUSES, numberAt, shareAt, colourOf, hashTokens, entryOf, remember, entryAt, lengthOf, raceClock, finishers,
    ordinal, inSeconds,
  };
}
