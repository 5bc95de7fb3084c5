// What a lane can show of each of its tokens, and in which colours; visualize/layers.py is its twin. Nothing here touches the page.

// Perceptually uniform scales, safe for the colour-blind: stops of plotly.colors.sequential Viridis, Cividis and Magma.
const SCALES = {
  viridis: ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
  cividis: ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"],
  magma: ["#000004", "#180f3d", "#440f76", "#721f81", "#9e2f7f", "#cd4071", "#f1605d", "#fd9668", "#feca8d", "#fcfdbf"],
};

// What a lane can show. `kind`: a share from 0 to 1, a count on the race's own range, or neither.
const LAYERS = [
  { name: "picture", title: "Picture", kind: "picture",
    words: "Solid: committed, final. Faint in a dashed frame: drafts, which may still change. The red line is the frontier." },
  { name: "top1", title: "Top-1 p", kind: "share", scale: "viridis",
    words: "How sure the model was: the probability of the likeliest token of its law p." },
  { name: "top1_draft", title: "Top-1 q", kind: "share", scale: "viridis",
    words: "How sure the draft was: the probability of the likeliest token of its law q." },
  { name: "tv", title: "TV(p, q)", kind: "share", scale: "cividis",
    words: "How far the draft's law q was from the model's law p: 0 the same, 1 nothing in common." },
  { name: "acceptance", title: "Acceptance", kind: "share", scale: "viridis",
    words: "The probability with which the lane's rule accepts this very draft." },
  { name: "status", title: "Status", kind: "status", words: "What the last step that touched it did to each token." },
  { name: "waiting", title: "Waiting", kind: "count", scale: "magma", unit: "passes",
    words: "For how many passes a token was refined before it was committed; of a draft, so far." },
  { name: "strips", title: "Strips", kind: "count", scale: "magma", unit: "tokens",
    words: "How long the run was in which a token was committed: the tokens that one step made final. A notch begins each run." },
];
const layerOf = (name) => LAYERS.find((layer) => layer.name === name);

// The engine's statuses, by their number. Colours are Okabe and Ito's; shapes are drawn by draw.js.
const STATUSES = [
  { name: "accepted", shape: "dot", colour: "#56b4e9", words: "the draft passed" },
  { name: "resampled", shape: "triangle", colour: "#e69f00", words: "the draft was refused, another token drawn in its place" },
  { name: "fresh", shape: "ring", colour: "#009e73", words: "drawn without a draft" },
  { name: "forced", shape: "square", colour: "#999999", words: "fixed by the model's layout" },
  { name: "refined", shape: "dash", colour: "#f0e442", words: "still a draft, kept or redrawn" },
  { name: "rejected", shape: "cross", colour: "#d55e00", words: "the draft was refused, the position is still open" },
];

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

// What a layer shows of a cell: a share from 0 to 1, a count, a status's number; null where there is nothing to show.
function layerValue(lane, view, cell, layer) {
  const i = view.recordOf(cell);
  if (i < 0 || layer === "picture") return null;
  if (layer === "status") return lane.status(i);
  const committed = cell < view.n;
  if (layer === "waiting") return lane.waits[i] + (committed ? 0 : 1);
  if (layer !== "strips") return lane.share(i, layer);
  return committed ? lane.steps[lane.stepOf(i)].tokens : null;
}

// The integers [low, high] between which a layer of counts lies in this race, its drafts included.
function rangeOf(race, layer) {
  const low = layer === "strips" ? 1 : 0;
  return [low, Math.max(low + 1, ...race.lanes.map((lane) => lane.most[layer]))];
}

// Where a count stands on its scale, 0 to 1. By logarithms: most runs and waits are short, a few are long.
const countShare = (value, [low, high]) => Math.log(1 + value - low) / Math.log(1 + high - low);

if (typeof module !== "undefined") {
  module.exports = { SCALES, LAYERS, STATUSES, layerOf, colourOf, layerValue, rangeOf, countShare };
}
