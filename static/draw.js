// Drawing one lane on its canvas: the picture or a heat map, drafts apart from what is committed, the frontier, the marks.

// Paints strips that have been decoded (images, by their text) onto a canvas that holds the picture at its own size.
function paintStrips(picture, strips, images, [rows]) {
  const context = picture.getContext("2d");
  strips.forEach((text, row) => {
    const image = text && images.get(text);
    if (!image) return;
    if (picture.width !== image.naturalWidth || picture.height !== image.naturalHeight * rows) {
      [picture.width, picture.height] = [image.naturalWidth, image.naturalHeight * rows];
    }
    context.drawImage(image, 0, row * image.naturalHeight);
  });
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

// Draws a lane. `view` is an entry of its history plus the committed strings and its picture; `look` says what to show
// ({layer, marks, ink, line}).
function drawLane(canvas, view, grid, look) {
  const context = canvas.getContext("2d");
  const [rows, columns] = grid;
  const [sx, sy] = [canvas.width / columns, canvas.height / rows];
  const drafts = view.window.status.length;
  const box = ([x, y, w, h]) => [x * sx, y * sy, w * sx, h * sy];
  context.clearRect(0, 0, canvas.width, canvas.height);
  if (look.layer === "picture") {
    const [px, py] = [view.picture.width / columns, view.picture.height / rows];
    const paste = (from, to, alpha) => {
      context.globalAlpha = alpha;
      for (const [x, y, w, h] of runs(from, to, columns)) {
        context.drawImage(view.picture, x * px, y * py, w * px, h * py, ...box([x, y, w, h]));
      }
      context.globalAlpha = 1;
    };
    context.imageSmoothingQuality = "high";
    paste(0, view.n, 1);
    paste(view.n, view.n + drafts, 0.4);
  } else {
    drawHeat(context, view, look, columns, sx, sy);
  }
  if (look.marks) {
    for (let cell = 0; cell < view.n + drafts; cell++) {
      const status = STATUSES[cell < view.n ? view.status[cell] : view.window.status[cell - view.n]];
      const [x, y] = [((cell % columns) + 0.5) * sx, (Math.floor(cell / columns) + 0.5) * sy];
      if (status) drawMark(context, status, x, y, Math.min(sx, sy) * 0.26);
    }
  }
  if (view.state === "finished" || !view.n) return;
  // Drafts wear a thin frame, and a line in the colour of the finish line stands at the frontier.
  context.lineWidth = Math.max(1, sx / 14);
  context.strokeStyle = look.ink;
  context.setLineDash([sx / 5, sx / 5]);
  for (const run of runs(view.n, view.n + drafts, columns)) context.strokeRect(...box(run));
  context.setLineDash([]);
  const [x, y] = [(view.n % columns) * sx, Math.floor(view.n / columns) * sy];
  context.strokeStyle = look.line;
  context.lineWidth = Math.max(2, sx / 6);
  context.beginPath();
  context.moveTo(0, y + sy);
  context.lineTo(x, y + sy);
  context.lineTo(x, y);
  context.lineTo(canvas.width, y);
  context.stroke();
}

// One square a cell; a draft's is smaller, and where no draft was judged there is a grey diagonal instead of a colour.
function drawHeat(context, view, look, columns, sx, sy) {
  const drafts = view.window.status.length;
  for (let cell = 0; cell < view.n + drafts; cell++) {
    const draft = cell >= view.n;
    const share = draft ? shareAt(view.window[look.layer], cell - view.n) : shareAt(view[look.layer], cell);
    const inset = draft ? 0.2 : 0;
    const [x, y] = [((cell % columns) + inset) * sx, (Math.floor(cell / columns) + inset) * sy];
    const [w, h] = [sx * (1 - 2 * inset), sy * (1 - 2 * inset)];
    if (share === null) {
      context.strokeStyle = "#8888";
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x + w * 0.2, y + h * 0.8);
      context.lineTo(x + w * 0.8, y + h * 0.2);
      context.stroke();
    } else {
      context.fillStyle = `rgb(${colourOf(look.layer, share)})`;
      // Half a pixel over, so that no seams show between neighbours.
      context.fillRect(x, y, w + (draft ? 0 : 0.5), h + (draft ? 0 : 0.5));
    }
  }
}

// What a step did to a cell: a shape of radius r, in the status's colour on a dark rim, so that it shows on any ground.
function drawMark(context, status, x, y, r) {
  const path = new Path2D();
  const filled = status.shape === "dot" || status.shape === "triangle" || status.shape === "square";
  if (status.shape === "dot") path.arc(x, y, r * 0.75, 0, 7);
  if (status.shape === "ring") path.arc(x, y, r * 0.85, 0, 7);
  if (status.shape === "square") path.rect(x - r * 0.7, y - r * 0.7, r * 1.4, r * 1.4);
  if (status.shape === "triangle") path.addPath(new Path2D(`M${x} ${y - r} L${x + r} ${y + r * 0.8} L${x - r} ${y + r * 0.8} Z`));
  if (status.shape === "dash") path.addPath(new Path2D(`M${x - r} ${y} L${x + r} ${y}`));
  if (status.shape === "cross") {
    path.addPath(new Path2D(`M${x - r} ${y - r} L${x + r} ${y + r} M${x + r} ${y - r} L${x - r} ${y + r}`));
  }
  context.lineCap = "round";
  context.strokeStyle = "#0009";
  context.lineWidth = r * (filled ? 0.5 : 1.1);
  context.stroke(path);
  context.strokeStyle = context.fillStyle = status.colour;
  context.lineWidth = r * 0.55;
  if (filled) context.fill(path);
  else context.stroke(path);
}

if (typeof module !== "undefined") module.exports = { runs };
