// The step table of a lane, read from what visualize/wire.py sends. No other module knows the
// wire's columns or bytes.

const NONE = 65535; // a u16 that says: there is none
const WIDTHS = { steps: 30, cells: 21, laws: 33, kin: 24, siblings: 12 }; // bytes a row
const SOURCE = { certain: 1, before: 2, own: 3 }; // of q's top tokens
// Where the shares stand in a row of `cells`.
const SHARES = { top1: 6, top1_draft: 8, tv: 10, acceptance: 12, uniform: 14, p: 16, q: 18 };
const STRIDE = 64; // rows: of every so many it is known where their entries begin
const START = { after: 0, first: 0, touched: 0, micros: 0, reached: 0, drafted: 0 };

const shareOf = (value) => (value === NONE ? null : value / 65534);

// A column of the wire: base64 that only grows, decoded from where it was when it is read.
class Column {
  text = "";
  #bytes = new Uint8Array(0);
  #decoded = 0; // characters; 4 of them are 3 bytes
  constructor(width) {
    this.width = width;
  }
  get count() {
    return Math.floor((3 * this.text.length) / 4 / this.width);
  }
  #read() {
    const tail = atob(this.text.slice(this.#decoded));
    const bytes = new Uint8Array(this.#bytes.length + tail.length);
    bytes.set(this.#bytes);
    for (let i = 0; i < tail.length; i++) bytes[this.#bytes.length + i] = tail.charCodeAt(i);
    [this.#bytes, this.#decoded] = [bytes, this.text.length];
  }
  // An unsigned integer of `size` bytes at an offset in a row.
  at(row, offset, size = 2) {
    if (this.#decoded < this.text.length) this.#read();
    let value = 0;
    for (let i = size - 1; i >= 0; i--) {
      value = value * 256 + this.#bytes[row * this.width + offset + i];
    }
    return value;
  }
}

// One lane of a race: what the wire says of it (title, state, passes, ...) and its step table. A
// row is one touched cell in one step, step after step; a step's cells are contiguous, from the
// number of those committed before it.
export class StepTable {
  /** @type {Step[]} */
  steps = [];
  /** @type {number[]} of each row, how many steps before had touched its cell */
  waits = [];
  most = { waiting: 0, runs: 0 }; // the largest count that each of these layers ever shows
  #columns = Object.fromEntries(
    Object.entries(WIDTHS).map(([name, width]) => [name, new Column(width)]),
  );
  #places = [[0, 0, 0]]; // where the entries of every STRIDE-th row begin

  /** @param {number} cells of the grid */
  constructor(cells) {
    this.committedBy = new Int32Array(cells); // of each committed cell, the row that committed it
    this.visits = new Uint16Array(cells);
  }

  get count() {
    return this.steps.length;
  }

  /** Whether a lane of a snapshot goes on where this one stands. @param {WireLane} wire */
  precedes(wire) {
    return Object.entries(this.#columns).every(([name, column]) =>
      wire[name].startsWith(column.text),
    );
  }

  /** @param {WireLane} wire */
  take(wire) {
    const { steps, cells, laws, kin, siblings, ...facts } = wire;
    Object.assign(this, facts);
    for (const [name, text] of Object.entries({ steps, cells, laws, kin, siblings })) {
      this.#columns[name].text = text;
    }
    for (let k = this.count; k < this.#columns.steps.count; k++) this.#take(k);
  }

  #take(k) {
    const read = (offset, size) => this.#columns.steps.at(k, offset, size);
    const [nfe, touched, committed, tokens, drafter] = [
      read(0, 4),
      read(4),
      read(6),
      read(8),
      read(10),
    ];
    const times = [12, 16, 20, 24].map((offset) => read(offset, 4));
    const last = this.steps[k - 1] ?? START;
    const [before, first] = [last.after, last.first + last.touched];
    const micros = last.micros + times.reduce((sum, time) => sum + time);
    this.steps.push({
      ...{
        nfe,
        before,
        after: before + committed,
        first,
        touched,
        tokens,
        drafter,
        passes: nfe,
        micros,
      },
      ...{ seconds: micros / 1e6, split: times.map((time) => time / 1e6) },
      ...{ reached: last.reached + tokens, drafted: last.drafted + drafter },
    });
    for (let i = 0; i < touched; i++) {
      const waited = this.visits[before + i]++;
      this.waits.push(waited);
      this.most.waiting = Math.max(this.most.waiting, waited + (i < committed ? 0 : 1));
      if (i < committed) this.committedBy[before + i] = first + i;
    }
    if (committed) this.most.runs = Math.max(this.most.runs, tokens);
  }

  token(row) {
    return this.#columns.cells.at(row, 2);
  }

  status(row) {
    return this.#columns.cells.at(row, 4, 1);
  }

  /** A probability or a distance; null where there is none. @param {keyof typeof SHARES} name */
  share(row, name) {
    return shareOf(this.#columns.cells.at(row, SHARES[name]));
  }

  // The step, counted from 0, that a row is of.
  stepOf(row) {
    let [low, high] = [0, this.count - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.steps[middle].first <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * All that a row says. The distributions, the group and the candidates are read when they are
   * used: who goes through all rows needs few of them.
   * @returns {Row}
   */
  row(i) {
    const [lane, step] = [this, this.stepOf(i)];
    const [cell, kind] = [this.steps[step].before + i - this.steps[step].first, this.#kind(i)];
    const drafted = this.#columns.cells.at(i, 0);
    const draft = drafted === NONE ? null : drafted;
    const share = (name) => this.share(i, name);
    return {
      ...{ cell, step, draft, token: this.token(i), status: this.status(i) },
      ...{ top1: share("top1"), top1Draft: share("top1_draft"), tv: share("tv") },
      ...{
        acceptance: share("acceptance"),
        uniform: share("uniform"),
        p: share("p"),
        q: share("q"),
      },
      get top() {
        return lane.#top(lane.#place(i)[0]);
      },
      get topDraft() {
        return lane.#topDraft(kind & 3, draft, lane.#place(i)[0], cell, step);
      },
      get group() {
        return kind & 4 ? lane.#group(lane.#place(i)[1]) : null;
      },
      get candidates() {
        const first = kind >> 4 ? lane.#place(i)[2] : 0;
        return Array.from({ length: kind >> 4 }, (_, j) => lane.#candidate(first + j));
      },
    };
  }

  // Bits 0-1: SOURCE; bit 2: there is a group; bits 4-7: how many candidates.
  #kind(row) {
    return this.#columns.cells.at(row, 5, 1);
  }

  // Where a row's entries begin in the other columns: counted on from the last row of which that is
  // known.
  #place(row) {
    const last = Math.floor(row / STRIDE);
    for (let n = this.#places.length; n <= last; n++)
      this.#places.push(this.#count(n - 1, n * STRIDE));
    return this.#count(last, row);
  }

  #count(n, to) {
    let [top, group, candidate] = this.#places[n];
    for (let row = n * STRIDE; row < to; row++) {
      const kind = this.#kind(row);
      top += (kind & 3) === SOURCE.own ? 2 : 1;
      group += (kind >> 2) & 1;
      candidate += kind >> 4;
    }
    return [top, group, candidate];
  }

  /** The likeliest tokens of a distribution. @returns {Share[]} */
  #top(j) {
    const read = (offset) => this.#columns.laws.at(j, offset);
    const length = this.#columns.laws.at(j, 0, 1);
    return Array.from({ length }, (_, n) => [read(1 + 4 * n), read(3 + 4 * n) / 65534]);
  }

  /** @returns {Share[]} */
  #topDraft(source, draft, j, cell, step) {
    if (source === SOURCE.certain) return [[draft, 1]];
    if (source === SOURCE.own) return this.#top(j + 1);
    if (source !== SOURCE.before) return [];
    let earlier = this.steps[--step];
    while (cell < earlier.before || cell >= earlier.before + earlier.touched)
      earlier = this.steps[--step];
    return this.#top(this.#place(earlier.first + cell - earlier.before)[0]);
  }

  #group(j) {
    const read = (n) => this.#columns.kin.at(j, 2 * n);
    const tokens = [3, 4, 5, 6, 7, 8, 9, 10].map(read).filter((token) => token !== NONE);
    return { count: read(0), p: shareOf(read(1)), q: shareOf(read(2)), tokens };
  }

  #candidate(j) {
    const read = (n) => this.#columns.siblings.at(j, 2 * n);
    const [p, q, acceptance, uniform] = [1, 2, 3, 4].map((n) => shareOf(read(n)));
    return { token: read(0), p, q, acceptance, uniform };
  }
}

// Snapshots that differ in any of these are of two races.
const FACTS = ["recorded", "prompt", "seed", "model", "machine", "codes"];

/**
 * Takes a snapshot in. Decodes only what `previous` (the race so far) has not, and then shares its
 * lanes; `fresh` says that a new race has begun.
 * @param {Snapshot} snapshot @param {Race | null} previous @returns {Race}
 */
export function readRace(snapshot, previous) {
  const cells = snapshot.grid[0] * snapshot.grid[1];
  const fresh = !previous || !continues(snapshot, previous);
  const lanes = snapshot.lanes.map((wire, i) => {
    const lane = fresh ? /** @type {Lane} */ (new StepTable(cells)) : previous.lanes[i];
    lane.take(wire);
    return lane;
  });
  return { snapshot, grid: snapshot.grid, cells, lanes, fresh };
}

/**
 * Whether a snapshot is of the same race, and later.
 * @param {Snapshot} snapshot @param {Race} race
 */
export function continues(snapshot, { snapshot: before, lanes }) {
  return (
    snapshot.seq > 0 &&
    snapshot.seq >= before.seq &&
    FACTS.every((fact) => snapshot[fact] === before[fact]) &&
    String(snapshot.grid) === String(before.grid) &&
    snapshot.lanes.length === lanes.length &&
    snapshot.lanes.every((wire, i) => wire.decoder === lanes[i].decoder && lanes[i].precedes(wire))
  );
}

/**
 * A lane's picture: for each row of tokens a base64 WebP file, "" while none is committed.
 * @param {WireLane} wire
 */
export const pictureRows = (wire) => wire.strips;
