// Reading what the board is sent (visualize/wire.py), and where every lane stood after any of its steps.
// Nothing here touches the page. The text is pasted in front of board.js; under node it is a module.

const NONE = 65535; // a u16 that says: there is none
const WIDTHS = { steps: 30, cells: 21, laws: 33, kin: 24, siblings: 12 }; // bytes a record
const SOURCE = { certain: 1, before: 2, own: 3 }; // where the likeliest tokens of q are: bits 0-1 of a cell's kind
const SHARES = { top1: 6, top1_draft: 8, tv: 10, acceptance: 12, uniform: 14, p: 16, q: 18 }; // offsets in a cell's record

const shareOf = (value) => (value === NONE ? null : value / 65534);

// FNV-1a, 32 bits, taking in one number as 4 bytes, little-endian.
const FNV = 0x811c9dc5;
function hashOn(value, number) {
  for (let shift = 0; shift < 32; shift += 8) value = Math.imul(value ^ ((number >>> shift) & 255), 0x01000193) >>> 0;
  return value;
}
const hashText = (value) => value.toString(16).padStart(8, "0");

const STRIDE = 64; // records: how far apart those are whose entries are found at once

// A column of the wire. Takes in longer and longer texts; what is new is decoded when it is first read.
class Column {
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  #decoded = 0; // characters; 4 of them are 3 bytes
  constructor(width) {
    [this.width, this.text] = [width, ""];
  }
  get count() {
    return Math.floor((3 * this.text.length) / 4 / this.width);
  }
  get view() {
    if (this.#decoded < this.text.length) {
      const tail = atob(this.text.slice(this.#decoded));
      const at = (3 * this.#decoded) / 4;
      if (at + tail.length > this.#bytes.length) {
        const roomier = new Uint8Array(Math.max(at + tail.length, 2 * this.#bytes.length));
        roomier.set(this.#bytes);
        [this.#bytes, this.#view] = [roomier, new DataView(roomier.buffer)];
      }
      for (let i = 0; i < tail.length; i++) this.#bytes[at + i] = tail.charCodeAt(i);
      this.#decoded = this.text.length;
    }
    return this.#view;
  }
}

// One lane of a race: the wire's own fields (title, state, n, seconds, ...), and its steps and records decoded.
class LaneRecords {
  // `cells`: how many the grid has.
  constructor(cells) {
    this.steps = [];
    this.columns = Object.fromEntries(Object.entries(WIDTHS).map(([name, width]) => [name, new Column(width)]));
    this.final = new Int32Array(cells); // of each committed cell, the record that committed it
    this.tokenHash = new Uint32Array(cells + 1).fill(FNV); // of the first n committed tokens
    this.statusHash = new Uint32Array(cells + 1).fill(FNV);
    this.waits = new Uint16Array(0); // of each record, how many steps before had touched its cell
    this.visits = new Uint16Array(cells);
    this.most = { waiting: 0, strips: 0 };
  }

  get count() {
    return this.steps.length;
  }

  // Whether a lane of a snapshot goes on where this one stands.
  precedes(wire) {
    return Object.keys(WIDTHS).every((name) => wire[name].startsWith(this.columns[name].text));
  }

  take(wire) {
    const { steps, cells, laws, kin, siblings, ...rest } = wire;
    Object.assign(this, rest);
    for (const [name, text] of Object.entries({ steps, cells, laws, kin, siblings })) this.columns[name].text = text;
    if (this.waits.length < this.columns.cells.count) {
      const roomier = new Uint16Array(2 * this.columns.cells.count);
      roomier.set(this.waits);
      this.waits = roomier;
    }
    for (let k = this.count; k < this.columns.steps.count; k++) this.#step(k);
  }

  #step(k) {
    const view = this.columns.steps.view;
    const [at, last] = [k * WIDTHS.steps, this.steps[k - 1]];
    const [nfe, touched, committed, tokens] = [view.getUint32(at, true), ...[4, 6, 8].map((i) => view.getUint16(at + i, true))];
    const split = [12, 16, 20, 24].map((i) => view.getUint32(at + i, true) / 1e6);
    const before = last ? last.after : 0;
    const drafter = view.getUint16(at + 10, true);
    const micros = (last ? last.micros : 0) + [12, 16, 20, 24].reduce((sum, i) => sum + view.getUint32(at + i, true), 0);
    const first = last ? last.first + last.touched : 0;
    this.steps.push({
      nfe, before, after: before + committed, first, touched, tokens, drafter, split, micros, seconds: micros / 1e6, passes: nfe,
      reached: (last ? last.reached : 0) + tokens, drafted: (last ? last.drafted : 0) + drafter,
    });
    for (let i = 0; i < touched; i++) {
      const cell = before + i;
      this.waits[first + i] = this.visits[cell]++;
      const waited = this.waits[first + i] + (i < committed ? 0 : 1);
      if (waited > this.most.waiting) this.most.waiting = waited;
      if (i >= committed) continue;
      this.final[cell] = first + i;
      this.tokenHash[cell + 1] = hashOn(this.tokenHash[cell], this.token(first + i));
      this.statusHash[cell + 1] = hashOn(this.statusHash[cell], this.status(first + i));
    }
    if (committed && tokens > this.most.strips) this.most.strips = tokens;
  }

  token(i) {
    return this.columns.cells.view.getUint16(i * WIDTHS.cells + 2, true);
  }

  status(i) {
    return this.columns.cells.view.getUint8(i * WIDTHS.cells + 4);
  }

  share(i, name) {
    return shareOf(this.columns.cells.view.getUint16(i * WIDTHS.cells + SHARES[name], true));
  }

  kind(i) {
    return this.columns.cells.view.getUint8(i * WIDTHS.cells + 5);
  }

  // The step, counted from 0, in which record i was made.
  stepOf(i) {
    let [low, high] = [0, this.count - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.steps[middle].first <= i) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // Everything that record i says. `step` counts from 0; probabilities are null where there is none. The laws, the kin and the
  // candidates are read when they are asked for: whoever goes through all records needs few of them.
  record(i) {
    const lane = this;
    const step = this.stepOf(i);
    const cell = this.steps[step].before + i - this.steps[step].first;
    const draft = this.columns.cells.view.getUint16(i * WIDTHS.cells, true);
    const kind = this.kind(i);
    const drafted = draft === NONE ? null : draft;
    return {
      cell, step, draft: drafted, token: this.token(i), status: this.status(i),
      top1: this.share(i, "top1"), top1Draft: this.share(i, "top1_draft"), tv: this.share(i, "tv"),
      acceptance: this.share(i, "acceptance"), uniform: this.share(i, "uniform"), p: this.share(i, "p"), q: this.share(i, "q"),
      get top() { return lane.#law(lane.#places(i)[0]); },
      get topDraft() { return lane.#draftLaw(kind & 3, drafted, lane.#places(i)[0], cell, step); },
      get kin() { return kind & 4 ? lane.#kin(lane.#places(i)[1]) : null; },
      get siblings() {
        const first = kind >> 4 ? lane.#places(i)[2] : 0;
        return Array.from({ length: kind >> 4 }, (_, j) => lane.#sibling(first + j));
      },
    };
  }

  // Where a record's entries begin in `laws`, `kin` and `siblings`: counted on from the last record that is kept in mind.
  #known = [[0, 0, 0]]; // of every STRIDE-th record
  #places(i) {
    const last = Math.floor(i / STRIDE);
    for (let n = this.#known.length; n <= last; n++) this.#known.push(this.#count(n - 1, n * STRIDE));
    return this.#count(last, i);
  }

  #count(n, to) {
    let [law, kin, sibling] = this.#known[n];
    for (let at = n * STRIDE; at < to; at++) {
      const kind = this.kind(at);
      law += (kind & 3) === SOURCE.own ? 2 : 1;
      kin += (kind >> 2) & 1;
      sibling += kind >> 4;
    }
    return [law, kin, sibling];
  }

  #law(j) {
    const [view, at] = [this.columns.laws.view, j * WIDTHS.laws];
    const pair = (n) => [view.getUint16(at + 1 + 4 * n, true), view.getUint16(at + 3 + 4 * n, true) / 65534];
    return Array.from({ length: view.getUint8(at) }, (_, n) => pair(n));
  }

  #draftLaw(source, draft, law, cell, step) {
    if (source === SOURCE.certain) return [[draft, 1]];
    if (source === SOURCE.own) return this.#law(law + 1);
    if (source !== SOURCE.before) return [];
    let earlier = this.steps[--step];
    while (cell < earlier.before || cell >= earlier.before + earlier.touched) earlier = this.steps[--step];
    return this.#law(this.#places(earlier.first + cell - earlier.before)[0]);
  }

  #kin(j) {
    const [view, at] = [this.columns.kin.view, j * WIDTHS.kin];
    const [count, p, q, ...tokens] = Array.from({ length: 11 }, (_, n) => view.getUint16(at + 2 * n, true));
    return { count, p: shareOf(p), q: shareOf(q), tokens: tokens.filter((token) => token !== NONE) };
  }

  #sibling(j) {
    const [view, at] = [this.columns.siblings.view, j * WIDTHS.siblings];
    const [p, q, acceptance, uniform] = [2, 4, 6, 8].map((n) => shareOf(view.getUint16(at + n, true)));
    return { token: view.getUint16(at, true), p, q, acceptance, uniform };
  }
}

// What a race is: two snapshots that differ in any of these are of two races.
const FACTS = ["recorded", "prompt", "seed", "model", "machine", "codes"];

// Takes a snapshot in: {snapshot, grid, cells, lanes, fresh}. Decodes only what `previous` (the race so far, or null) has not,
// and then shares its lanes. `fresh` says that a new race has begun.
function decodeRace(snapshot, previous) {
  const cells = snapshot.grid[0] * snapshot.grid[1];
  const fresh = !previous || !continues(snapshot, previous);
  const lanes = snapshot.lanes.map((wire, i) => {
    const lane = fresh ? new LaneRecords(cells) : previous.lanes[i];
    lane.take(wire);
    return lane;
  });
  return { snapshot, grid: snapshot.grid, cells, lanes, fresh };
}

function continues(snapshot, previous) {
  const before = previous.snapshot;
  return snapshot.seq > 0 && snapshot.seq >= before.seq && FACTS.every((fact) => snapshot[fact] === before[fact])
    && String(snapshot.grid) === String(before.grid) && snapshot.lanes.length === previous.lanes.length
    && snapshot.lanes.every((wire, i) => wire.decoder === previous.lanes[i].decoder && previous.lanes[i].precedes(wire));
}

// How many steps of a lane were done at t on a clock ("seconds" or "passes").
function stepAt(lane, clock, t) {
  let [low, high] = [0, lane.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.steps[middle][clock] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The lane after its k-th step; k = 0 is before the first. `window` counts the drafts standing ahead of its n cells.
function laneAt(lane, k) {
  const step = lane.steps[k - 1];
  const state = k === lane.count ? lane.state : k ? "racing" : "waiting";
  if (!step) {
    return { k, n: 0, window: 0, state, passes: 0, drafter: 0, seconds: 0, compression: 0, recordOf: () => -1 };
  }
  const { after: n, before, first, touched } = step;
  const reach = ["stopped", "failed"].includes(state) ? n : before + touched; // no draft stands where no step will judge it
  const recordOf = (cell) => (cell < n ? lane.final[cell] : cell < reach ? first + cell - before : -1);
  return {
    k, n, window: reach - n, state, passes: step.nfe, drafter: step.drafted, seconds: step.seconds,
    compression: step.reached / step.nfe, recordOf,
  };
}

// The hashes of the tokens and of the statuses that a lane shows: those committed, then the drafts.
function hashesOf(lane, view) {
  let [tokens, marks] = [lane.tokenHash[view.n], lane.statusHash[view.n]];
  for (let cell = view.n; cell < view.n + view.window; cell++) {
    const i = view.recordOf(cell);
    [tokens, marks] = [hashOn(tokens, lane.token(i)), hashOn(marks, lane.status(i))];
  }
  return [hashText(tokens), hashText(marks)];
}

// A lane's clock after its k-th step, after its last so far, and the slowest lane's: how long the race is.
const clockAt = (lane, clock, k) => lane.steps[Math.min(k, lane.count) - 1]?.[clock] ?? 0;
const clockOf = (lane, clock) => clockAt(lane, clock, lane.count);
const lengthOf = (race, clock) => Math.max(0, ...race.lanes.map((lane) => clockOf(lane, clock)));

// The race's clock while it runs: that of the running lane which is furthest behind; then the slowest lane's.
function raceClock(race, clock) {
  const running = race.lanes.filter((lane) => lane.state === "racing");
  return running.length ? Math.min(...running.map((lane) => clockOf(lane, clock))) : lengthOf(race, clock);
}

// The instant of the next (or, with `back`, the latest earlier) step of any of these lanes; null where there is none.
function nextStep(lanes, clock, t, back = false) {
  const times = lanes.map((lane) => {
    const k = stepAt(lane, clock, t);
    if (!back) return k < lane.count ? lane.steps[k][clock] : Infinity;
    return lane.steps.slice(0, k).findLast((step) => step[clock] < t)?.[clock] ?? 0;
  });
  const found = back ? Math.max(0, ...times) : Math.min(Infinity, ...times);
  return (back ? found < t : Number.isFinite(found)) ? found : null;
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
    decodeRace, stepAt, laneAt, hashesOf, hashOn, hashText, FNV, clockOf, lengthOf, raceClock, nextStep, finishers, ordinal,
    inSeconds,
  };
}
