// Drawing one lane on its canvas. What is committed never changes, so each lane keeps a plane: all its committed cells in the
// layer that is shown, at the canvas's own size. An instant is then a part of the plane, the drafts, and the frontier.

const SWATCH = { side: 8, columns: 32 }; // visualize/swatches.py
const GHOST = 0.4; // how much of a draft's swatch shows
const INSET = 0.2; // of a cell, around a draft's colour
const NO_VALUE = "#8b909a";

function sized(canvas, width, height) {
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  return canvas;
}

// The cells [from, to) in raster order, as at most three rectangles [column, row, columns, rows].
function runs(from, to, columns) {
  const out = [];
  let cell = from;
  while (cell < to) {
    const [row, column] = [Math.floor(cell / columns), cell % columns];
    const whole = column === 0 ? Math.floor((to - cell) / columns) : 0;
    const width = whole ? columns : Math.min(columns - column, to - cell);
    out.push([column, row, width, whole || 1]);
    cell += whole ? whole * columns : width;
  }
  return out;
}

// A lane's picture at its own size, put together from its strips as they come.
class Picture {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.strips = [];
    this.version = 0;
  }

  // Decodes the strips that are new and paints them, all at once.
  async take(strips) {
    const changed = strips.map((text, row) => [text, row]).filter(([text, row]) => text && text !== this.strips[row]);
    const images = await Promise.all(changed.map(([text]) => decodeImage(text)));
    const context = this.canvas.getContext("2d");
    changed.forEach(([text, row], i) => {
      const image = images[i];
      if (!image) return;
      sized(this.canvas, image.naturalWidth, image.naturalHeight * strips.length);
      context.drawImage(image, 0, row * image.naturalHeight);
      this.strips[row] = text;
      this.version += 1;
    });
  }
}

// The image in a base64 WebP file; null if it is damaged.
async function decodeImage(text) {
  const image = new Image();
  image.src = "data:image/webp;base64," + text;
  return image.decode().then(() => image, () => null);
}

// The colours of a scale, 256 of them.
const palettes = new Map();
function paletteOf(scale) {
  if (!palettes.has(scale)) palettes.set(scale, Array.from({ length: 256 }, (_, i) => colourOf(scale, i / 255)));
  return palettes.get(scale);
}

// Where a value stands on its layer's scale, 0 to 1; null where there is none.
const placeOf = (value, layer, range) => (value === null || layer.kind === "share" ? value : countShare(value, range));

// Keeps a lane's plane. `look` says what to show: {layer, range, swatches, rule, card}.
class Plane {
  constructor(picture) {
    this.picture = picture;
    this.canvas = document.createElement("canvas");
    this.small = document.createElement("canvas"); // one pixel a cell
    this.key = "";
    this.done = 0; // cells painted
    this.strips = []; // as painted
  }

  // Brings the plane up to the lane's newest committed cell.
  update(lane, [rows, columns], side, look) {
    const key = [look.layer.name, look.range, side, rows, columns, look.rule, look.card, Boolean(look.swatches)].join();
    const context = sized(this.canvas, side * columns, side * rows).getContext("2d");
    if (key !== this.key) {
      [this.key, this.done, this.strips] = [key, 0, []];
      context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    }
    const view = laneAt(lane, lane.count);
    if (look.layer.kind === "picture") this.#pictured(context, lane, view, columns, side, look);
    else if (this.done < view.n && look.layer.kind === "status") {
      for (let cell = this.done; cell < view.n; cell++) {
        const [x, y] = [(cell % columns) * side, Math.floor(cell / columns) * side];
        pasteMark(context, lane.status(view.recordOf(cell)), x, y, side);
      }
    } else if (this.done < view.n) {
      this.#coloured(context, lane, view, rows, columns, side, look);
      if (look.layer.name === "strips") this.#parted(context, lane, columns, side, look);
    }
    this.done = view.n;
  }

  // The strips; where a recording has none, the swatches stand in for them.
  #pictured(context, lane, view, columns, side, look) {
    const { strips, canvas: source } = this.picture;
    if (!strips.some(Boolean)) {
      for (let cell = this.done; cell < view.n; cell++) {
        pasteSwatch(context, lane.token(view.recordOf(cell)), cell, columns, side, look);
      }
      return;
    }
    context.imageSmoothingQuality = "high";
    const [from, to] = [source.height / lane.strips.length, this.canvas.height / lane.strips.length];
    strips.forEach((text, row) => {
      if (text === this.strips[row]) return;
      context.drawImage(source, 0, row * from, source.width, from, 0, row * to, this.canvas.width, to);
      this.strips[row] = text;
    });
  }

  // One pixel a cell, scaled up; where a cell has no value a grey stroke shows through.
  #coloured(context, lane, view, rows, columns, side, look) {
    context.fillStyle = hatch(context, side);
    for (const run of runs(this.done, view.n, columns)) context.fillRect(...run.map((cells) => cells * side));
    const image = new ImageData(columns, rows);
    const palette = paletteOf(look.layer.scale);
    for (let cell = this.done; cell < view.n; cell++) {
      const place = placeOf(layerValue(lane, view, cell, look.layer.name), look.layer, look.range);
      if (place !== null) image.data.set([...palette[Math.round(255 * place)], 255], 4 * cell);
    }
    sized(this.small, columns, rows).getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.small, 0, 0, this.canvas.width, this.canvas.height);
    context.imageSmoothingEnabled = true;
  }

  // A notch where each run begins: neighbours may be of one length.
  #parted(context, lane, columns, side, look) {
    [context.fillStyle, context.globalAlpha] = [look.card, 0.55];
    for (const { before } of lane.steps) {
      const [x, y] = [(before % columns) * side, Math.floor(before / columns) * side];
      if (before >= this.done) context.fillRect(x, y, Math.max(1, side / 10), side);
    }
    context.globalAlpha = 1;
  }
}

function pasteSwatch(context, token, cell, columns, side, look) {
  const [x, y] = [(cell % columns) * side, Math.floor(cell / columns) * side];
  if (look.swatches) {
    const [column, row] = [token % SWATCH.columns, Math.floor(token / SWATCH.columns)];
    context.drawImage(look.swatches, column * SWATCH.side, row * SWATCH.side, SWATCH.side, SWATCH.side, x, y, side, side);
  } else {
    context.fillStyle = look.rule;
    context.fillRect(x, y, side, side);
  }
}

// A pattern of one grey stroke a cell: there is no value here.
const hatches = new Map();
function hatch(context, side) {
  if (!hatches.has(side)) {
    const tile = sized(document.createElement("canvas"), side, side);
    const pen = tile.getContext("2d");
    pen.strokeStyle = NO_VALUE;
    pen.lineWidth = Math.max(1, side / 16);
    pen.stroke(new Path2D(`M${0.25 * side} ${0.75 * side} L${0.75 * side} ${0.25 * side}`));
    hatches.set(side, tile);
  }
  return context.createPattern(hatches.get(side), "repeat");
}

// What a step did to a cell: a dark shape on a square in the status's colour, so that either is enough. The square's middle is
// (x, y), and r half of its side.
const SHAPES = {
  dot: "M-0.34 0 A0.34 0.34 0 1 0 0.34 0 A0.34 0.34 0 1 0 -0.34 0 Z",
  ring: "M-0.48 0 A0.48 0.48 0 1 0 0.48 0 A0.48 0.48 0 1 0 -0.48 0 Z",
  square: "M-0.44 -0.44 H0.44 V0.44 H-0.44 Z",
  triangle: "M0 -0.6 L0.6 0.48 L-0.6 0.48 Z",
  dash: "M-0.56 0 H0.56",
  cross: "M-0.5 -0.5 L0.5 0.5 M0.5 -0.5 L-0.5 0.5",
};
function drawMark(context, { shape, colour }, x, y, r) {
  context.save();
  context.translate(x, y);
  context.scale(r, r);
  context.fillStyle = colour;
  context.fillRect(-1, -1, 2, 2);
  context.fillStyle = context.strokeStyle = "#14161a";
  [context.lineWidth, context.lineCap] = [0.24, "round"];
  if (["dot", "square", "triangle"].includes(shape)) context.fill(new Path2D(SHAPES[shape]));
  else context.stroke(new Path2D(SHAPES[shape]));
  context.restore();
}

// The mark of each status, drawn once a size.
const marks = new Map();
function markOf(status, side) {
  const key = `${status},${side}`;
  if (!marks.has(key)) {
    const tile = sized(document.createElement("canvas"), side, side);
    drawMark(tile.getContext("2d"), STATUSES[status], side / 2, side / 2, side / 2);
    marks.set(key, tile);
  }
  return marks.get(key);
}
function pasteMark(context, status, x, y, side) {
  context.drawImage(markOf(status, Math.max(1, Math.round(side))), x, y, side, side);
}

// Draws a lane as `view` (laneAt) has it. `look` has besides: {ink, card, signal, cell (the selected one or null), here}.
function drawLane(canvas, plane, lane, view, grid, look) {
  const context = canvas.getContext("2d");
  const [, columns] = grid;
  const side = canvas.width / columns;
  const reach = view.n + view.window;
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (const run of runs(0, view.n, columns)) {
    const box = run.map((cells) => cells * side);
    context.drawImage(plane.canvas, ...box, ...box);
  }
  for (let cell = view.n; cell < reach; cell++) drawDraft(context, lane, view, cell, columns, side, look);
  if (view.n && view.state !== "finished") drawFrontier(context, view, columns, side, look);
  if (look.cell !== null) drawSelected(context, look.cell, columns, side, look);
}

// Of a draft, the swatch shows as a ghost, and of a number only a smaller square.
function drawDraft(context, lane, view, cell, columns, side, look) {
  const inset = look.layer.kind === "picture" ? 0 : INSET * side;
  const [x, y] = [(cell % columns) * side + inset, Math.floor(cell / columns) * side + inset];
  const size = side - 2 * inset;
  if (look.layer.kind === "picture") {
    context.globalAlpha = GHOST;
    pasteSwatch(context, lane.token(view.recordOf(cell)), cell, columns, side, look);
    context.globalAlpha = 1;
    return;
  }
  const value = layerValue(lane, view, cell, look.layer.name);
  if (look.layer.kind === "status") return void pasteMark(context, value, x - inset / 2, y - inset / 2, size + inset);
  const place = placeOf(value, look.layer, look.range);
  context.fillStyle = place === null ? hatch(context, side) : `rgb(${paletteOf(look.layer.scale)[Math.round(255 * place)]})`;
  context.fillRect(x, y, size, size);
}

// Drafts wear a thin dashed frame, and a line in the colour of the finish line stands at the frontier.
function drawFrontier(context, view, columns, side, look) {
  const width = context.canvas.width;
  context.lineWidth = Math.max(1, side / 14);
  context.strokeStyle = look.ink;
  context.setLineDash([side / 5, side / 5]);
  for (const run of runs(view.n, view.n + view.window, columns)) context.strokeRect(...run.map((cells) => cells * side));
  context.setLineDash([]);
  const [x, y] = [(view.n % columns) * side, Math.floor(view.n / columns) * side];
  context.strokeStyle = look.signal;
  context.lineWidth = Math.max(2, side / 6);
  context.stroke(new Path2D(`M0 ${y + side} L${x} ${y + side} L${x} ${y} L${width} ${y}`));
}

// The selected cell: a full frame in its own lane, corners in the others.
function drawSelected(context, cell, columns, side, look) {
  const gap = Math.max(2, side / 10);
  const [x, y] = [(cell % columns) * side - gap, Math.floor(cell / columns) * side - gap];
  const size = side + 2 * gap;
  context.setLineDash(look.here ? [] : [size / 2, size / 2]);
  context.lineDashOffset = look.here ? 0 : size / 4;
  for (const [colour, width] of [[look.card, 4], [look.ink, 2]]) {
    context.strokeStyle = colour;
    context.lineWidth = width * gap * 0.6;
    context.strokeRect(x, y, size, size);
  }
  context.setLineDash([]);
  context.lineDashOffset = 0;
}
