// The life of a token: what every step did to one cell of one lane, and the two laws that met there.

const atlas = { text: "", url: "" };

// The atlas as an address that a style can name; the last one's memory is given back.
function atlasUrl(text) {
  if (atlas.text === text) return atlas.url;
  if (atlas.url) URL.revokeObjectURL(atlas.url);
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  Object.assign(atlas, { text, url: text && URL.createObjectURL(new Blob([bytes], { type: "image/webp" })) });
  return atlas.url;
}

// What a code looks like decoded alone, `side` pixels wide; an empty square where there is no token.
function swatchOf(token, codes, side, mark = "") {
  const swatch = make("i", `swatch ${mark}`);
  swatch.style.width = swatch.style.height = `${side}px`;
  if (token === null || token === undefined) swatch.classList.add("nothing");
  else if (atlas.url) {
    const [column, row] = [token % SWATCH.columns, Math.floor(token / SWATCH.columns)];
    swatch.style.backgroundImage = `url("${atlas.url}")`;
    swatch.style.backgroundSize = `${SWATCH.columns * side}px ${Math.ceil(codes / SWATCH.columns) * side}px`;
    swatch.style.backgroundPosition = `${-column * side}px ${-row * side}px`;
  }
  swatch.title = isKnown(token) ? `token ${token}` : "no token";
  return swatch;
}

// Shows the cell chosen in `state`, or hides the panel. steps[i]: how many steps of lane i are drawn. Of a race that is over
// the whole life is shown, with the drawn step marked; of one that runs, what has been drawn of it.
function drawToken(panel, state, steps) {
  panel.hidden = !state.cell;
  panel.classList.toggle("pinned", Boolean(state.cell?.pinned));
  if (panel.hidden) return void delete panel.dataset.key;
  const { race, cell: { lane: index, cell } } = state;
  const lane = race.lanes[index];
  const over = ["finished", "stopped"].includes(race.snapshot.state);
  const life = lifeOf(lane, cell, over ? lane.count : steps[index]);
  const now = life.filter((record) => record.at < steps[index]).length - 1;
  const cellKey = `${race.snapshot.prompt}|${race.snapshot.seed}|${index}|${cell}`;
  const drawKey = `${cellKey}|${life.length}|${now}|${race.snapshot.swatches.length}`;
  if (panel.dataset.key === drawKey) return;
  panel.dataset.key = drawKey;
  const focused = panel.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
  atlasUrl(race.snapshot.swatches);
  const view = { lane, cell, life, now, codes: race.snapshot.codes, columns: race.grid[1], shown: Math.max(0, now) };
  panel.replaceChildren(tokenHead(view), tokenBody(view));
  if (focused !== undefined) panel.querySelector(`[data-row="${focused}"]`)?.focus();
}

function tokenHead({ lane, cell, life, codes, columns }) {
  const head = make("header", "token-head");
  const words = make("div", "");
  const last = life[life.length - 1];
  const where = `${lane.title}, row ${Math.floor(cell / columns) + 1}, column ${(cell % columns) + 1}`;
  words.append(make("h3", "", last ? `Why token ${last.token}?` : "Why this token?"), make("p", "token-where", where));
  const close = make("button", "token-close", "×");
  close.type = "button";
  close.setAttribute("aria-label", "Close");
  head.append(swatchOf(last ? last.token : null, codes, 48), words, make("p", "token-why", whyToken(lane.decoder, life)), close);
  return head;
}

// The life, who spoke for the draft of the row that was chosen, and beside them its laws; redrawn when another row is.
function tokenBody(view) {
  const body = make("div", "token-body");
  if (!view.life.length) return body;
  const [left, who, laws] = [make("div", "token-left"), make("div", "token-who"), make("div", "token-laws")];
  const rows = view.life.map((record, row) => lifeRow(view, record, row));
  const choose = (row) => {
    rows.forEach((other, i) => other.setAttribute("aria-pressed", String(i === row)));
    who.replaceChildren(...whoSpoke(view, view.life[row]));
    laws.replaceChildren(...lawsOf(view, view.life[row]));
  };
  rows.forEach((button, row) => button.addEventListener("click", () => choose(row)));
  const list = make("div", "life");
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", "Every pass that touched this cell");
  const names = make("p", "life-row life-names");
  for (const name of ["pass", "draft", "then", "status", "p", "q", "TV", "acceptance, number drawn"]) {
    names.append(make("span", "", name));
  }
  list.append(names, ...rows);
  choose(view.shown);
  left.append(list, who);
  body.append(left, laws);
  return body;
}

function lifeRow({ lane, codes, now }, record, row) {
  const button = make("button", row === now ? "life-row now" : "life-row");
  button.type = "button";
  button.dataset.row = row;
  if (row === now) button.title = "The step that the board shows";
  const status = make("span", "life-status");
  const canvas = make("canvas", "");
  [canvas.width, canvas.height] = [36, 36];
  drawMark(canvas.getContext("2d"), STATUSES[record.status], 18, 18, 10);
  status.append(canvas, make("b", "", STATUSES[record.status].name));
  const number = (name, value) => {
    const span = make("span", "life-number", chance(value));
    span.dataset.name = name;
    return span;
  };
  const drafted = make("span", "");
  const then = make("span", "");
  drafted.append(swatchOf(record.draft, codes, 24, "draft"));
  then.append(swatchOf(record.token, codes, 24, record.committed ? "final" : "draft"));
  button.append(make("span", "life-pass", String(record.pass)), drafted, then, status,
    number("p", record.p), number("q", record.q), number("TV", record.tv), testOf(lane.decoder, record));
  return button;
}

// The acceptance probability as a filled length, the uniform number as a tick on it, and both in words.
function testOf(decoder, record) {
  const test = make("span", "test");
  const [uniform, acceptance] = decisive(record);
  if (isKnown(acceptance)) {
    const bar = make("i", "test-bar");
    const fill = make("i", "test-fill");
    fill.style.width = `${100 * acceptance}%`;
    bar.append(fill);
    if (isKnown(uniform)) {
      const tick = make("i", uniform < acceptance ? "test-tick" : "test-tick over");
      tick.style.left = `${100 * uniform}%`;
      bar.append(tick);
    }
    test.append(bar);
  }
  test.append(make("span", "test-words", judgedInWords(decoder, record)));
  return test;
}

function whoSpoke(view, record) {
  if (record.siblings.length) return [candidatesOf(view, record)];
  return record.kin ? [kinOf(view, record)] : [];
}

function lawsOf(view, record) {
  return [
    lawOf(view, record, "p: the model's law", record.top, record.p, record.topDraft),
    lawOf(view, record, `q: ${sourceOf(view.lane, record)}`, record.topDraft, record.q, record.top),
  ];
}

// What q was, for a newcomer.
function sourceOf(lane, record) {
  if (record.draft === null || !record.topDraft.length) return "no draft";
  if (record.topDraft.length === 1 && record.topDraft[0][0] === record.draft) return "a fresh guess, certain";
  return lane.decoder === "lantern" && lane.drafter ? "the drafter's law" : "the law of the draft";
}

// The likeliest tokens of a law as bars; a thin line on a bar is the same token's probability in the other law, where known.
function lawOf({ codes }, { draft, token, committed }, title, top, share, other) {
  const figure = make("figure", "law");
  figure.append(make("figcaption", "", title));
  const rows = [...top];
  if (isKnown(draft, share) && !rows.some(([id]) => id === draft)) rows.push([draft, share]);
  const scale = Math.max(0, ...top.map(([, p]) => p), ...other.map(([, p]) => p)) || 1;
  if (!rows.length) figure.append(make("p", "law-none", "Nothing recorded."));
  rows.forEach(([id, p], i) => {
    const row = make("div", `law-row${i >= top.length ? " beyond" : ""}${id === draft || id === token ? " told" : ""}`);
    const bar = make("i", "law-bar");
    const fill = make("i", "law-fill");
    fill.style.width = `${(100 * p) / scale}%`;
    bar.append(fill);
    const twin = other.find(([twinId]) => twinId === id);
    if (twin) {
      const tick = make("i", "law-twin");
      tick.style.left = `${(100 * twin[1]) / scale}%`;
      bar.append(tick);
    }
    const stays = committed ? ["token", "accepted"] : ["next", "kept"];
    const marks = id === token ? stays[Number(id === draft)] : id === draft ? "draft" : "";
    const kind = id === token && committed ? "final" : id === draft ? "draft" : "";
    row.append(swatchOf(id, codes, 20, kind), make("span", "law-id", String(id)), bar, make("span", "law-share", chance(p)),
      make("b", "law-mark", marks));
    figure.append(row);
  });
  return figure;
}

// GSD's group or LANTERN's neighbourhood: who spoke for the draft, and the two masses.
function kinOf({ lane, codes }, { kin, draft }) {
  const figure = make("figure", "kin");
  const group = lane.decoder === "gsd";
  const name = `The draft's ${group ? "group C" : "neighbourhood A"}`;
  const others = group ? `${kin.count} tokens about as probable` : `it and the nearest ${kin.count - 1}`;
  const title = `${name}: ${kin.count === 1 ? "the draft alone" : others}`;
  const swatches = make("div", "kin-swatches");
  for (const token of kin.tokens) swatches.append(swatchOf(token, codes, 28, token === draft ? "draft" : ""));
  if (kin.count > kin.tokens.length) swatches.append(make("span", "", `and ${kin.count - kin.tokens.length} more`));
  const against = `${chance(kin.p)} of p against ${chance(kin.q)} of q${group ? "" : " for it alone"}`;
  const ratio = kin.q > 0 ? `: ratio ${chance(kin.p / kin.q)}${kin.p > kin.q ? ", taken as 1" : ""}.` : ".";
  const masses = make("p", "", against + ratio);
  figure.append(make("figcaption", "", title), swatches, masses);
  return figure;
}

// SJD-PAC's candidates, in the order in which they were tried.
function candidatesOf({ lane, codes }, record) {
  const figure = make("figure", "candidates");
  const title = record.siblings.length === 1 ? "One candidate was tried" : "The candidates, in the order tried";
  figure.append(make("figcaption", "", title));
  record.siblings.forEach((sibling, i) => {
    const accepted = record.status === DID.ACCEPTED && i === record.siblings.length - 1;
    const row = make("div", accepted ? "candidate accepted" : "candidate");
    const numbers = make("span", "candidate-numbers", `p ${chance(sibling.p)}, q ${chance(sibling.q)}`);
    const tried = { ...record, ...sibling, siblings: [], status: accepted ? DID.ACCEPTED : DID.RESAMPLED };
    row.append(make("b", "", String(i + 1)), swatchOf(sibling.token, codes, 24, accepted ? "final" : "draft"),
      make("span", "law-id", String(sibling.token)), numbers, testOf(lane.decoder, tried));
    figure.append(row);
  });
  return figure;
}
