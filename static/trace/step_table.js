// The step table of a lane, read from the rows that Python sends.

import { Rows } from "./rows.js";

const SOURCE = { certain: 1, before: 2, own: 3 }; // where q's top tokens are found
const PARTS = ["forward", "verify", "cache", "draft"]; // of a step's time, in microseconds
const STRIDE = 64; // rows of `positions` between two of which it is kept where their details begin
// What the first step counts on from.
const START = {
  after: 0,
  micros: 0,
  reached: 0,
  drafted: 0,
  row: 0,
  positions: 0,
  tests: 0,
  shifts: 0,
};

/** @param {string} name */
const camelCase = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

// One lane of a race: what is sent of it (title, state, passes, ...) and its step table. Sampled
// positions are counted from 0, and forced ones are left out: `order` has the cell of each sampled
// position, and `rank` the position of each cell. A row here is one touched cell in one step, step
// after step. The cells of a step follow one another in that order, and begin behind those that
// were committed before it.
export class StepTable {
  /** @type {Step[]} */
  steps = [];
  /** @type {number[]} of each row, how many steps before had touched its cell */
  waits = [];
  /** @type {Record<string, number>} */
  most = { waiting: 0, runs: 0 }; // the largest count that each of these layers ever shows
  /** @type {number[]} */
  #rows = []; // of each row, its number in the table `positions`, which has forced ones too
  priced = false; // whether the prices of a lane that tests nothing are known
  #places = [[0, 0, 0]]; // where the details of every STRIDE-th row of `positions` begin

  /** @param {Snapshot} snapshot @param {number[]} own the cells of a lane in an order of its own */
  constructor({ cells: all, dtypes, infilling }, own) {
    const cells = own.length ? own : all;
    this.cells = cells;
    this.dtypes = dtypes;
    this.known = infilling ? infilling.known : []; // of an infilling: each cell's token, -1 if none
    this.order = cells.filter((cell) => cell >= 0);
    /** @type {number[]} */
    this.rank = [];
    this.order.forEach((cell, n) => (this.rank[cell] = n));
    this.isRaster = this.order.every((cell, n) => cell === n);
    this.committedBy = new Int32Array(this.order.length); // of each rank, the row that committed it
    this.visits = new Uint16Array(this.order.length);
    this.tables = Object.fromEntries(
      Object.entries(dtypes.tables).map(([name, dtype]) => [name, new Rows(dtype)]),
    );
  }

  get count() {
    return this.steps.length;
  }

  /** Seconds of forward, verification, cache and drafter. */
  get split() {
    return PARTS.map((_, i) => this.steps.reduce((sum, { split }) => sum + split[i], 0));
  }

  /**
   * The token that stood at a cell before the race; null where a lane draws it.
   * @param {number} cell
   */
  knownToken(cell) {
    return this.known[cell] >= 0 ? this.known[cell] : null;
  }

  /** Whether a lane of a snapshot goes on where this one stands. @param {LaneSnapshot} wire */
  precedes({ table }) {
    return Object.entries(this.tables).every(([name, rows]) => table[name].startsWith(rows.text));
  }

  /** @param {LaneSnapshot} wire */
  take({ table, ...facts }) {
    Object.assign(this, facts);
    for (const [name, text] of Object.entries(table)) this.tables[name].text = text;
    const known = this.count;
    const priced = this.priced;
    for (let k = known; k < this.tables.steps.count; k++) this.#take(k);
    this.priced = this.tables.prices.count > 0;
    for (let k = this.priced && !priced ? 0 : known; k < this.count; k++) this.#weigh(k);
  }

  // Sums up the shifts of a step.
  /** @param {number} k */
  #weigh(k) {
    const { tests, shifts } = this.steps[k - 1] ?? START;
    const step = this.steps[k];
    step.tests = tests;
    step.shifts = shifts;
    for (let i = 0; i < step.positions; i++) {
      const shift = this.cells[step.reached - step.tokens + i] < 0 ? null : this.#shift(step, i);
      if (shift === null) continue;
      step.tests += 1;
      step.shifts += shift;
    }
  }

  // The shift of a step's i-th position, forced ones counted: that of a test, or, at the end of a
  // lane that verifies nothing, the price of a token.
  /** @param {Step} step @param {number} i */
  #shift({ row, reached, tokens }, i) {
    const { positions, prices } = this.tables;
    if (this.priced && i < tokens) return this.#share(prices.at(reached - tokens + i, "shift"));
    return this.#share(positions.at(row + i, "shift"));
  }

  /** @param {number} k */
  #take(k) {
    /** @param {string} field */
    const read = (field) => this.tables.steps.at(k, field);
    const nfe = read("nfe");
    const positions = read("positions");
    const tokens = read("committed");
    const drafter = read("drafter_passes");
    const times = PARTS.map(read);
    const last = this.steps[k - 1] ?? START;
    const before = last.after;
    const row = last.row + last.positions;
    const micros = last.micros + times.reduce((sum, time) => sum + time);
    const step = {
      nfe,
      rows: read("rows"),
      before,
      after: before,
      first: this.#rows.length,
      touched: 0,
      row,
      positions,
      tokens,
      drafter,
      split: times.map((time) => time / 1e6),
      passes: nfe,
      micros,
      seconds: micros / 1e6,
      modelled: 0,
      reached: last.reached + tokens,
      tests: 0,
      shifts: 0,
      drafted: last.drafted + drafter,
    };
    this.steps.push(step);
    for (let i = 0; i < positions; i++) {
      if (this.cells[last.reached + i] < 0) continue; // forced
      const rank = before + step.touched++;
      const waited = this.visits[rank]++;
      this.#rows.push(row + i);
      this.waits.push(waited);
      this.most.waiting = Math.max(this.most.waiting, waited + (i < tokens ? 0 : 1));
      if (i < tokens) this.committedBy[step.after++] = this.#rows.length - 1;
    }
    if (step.after > before) this.most.runs = Math.max(this.most.runs, tokens);
  }

  /** @param {number} row @param {string} field */
  #at(row, field) {
    return this.tables.positions.at(this.#rows[row], field);
  }

  /** @param {number} row */
  token(row) {
    return this.#at(row, "token");
  }

  /** @param {number} row */
  status(row) {
    return this.#at(row, "status");
  }

  /**
   * A probability or a distance; null where there is none.
   * @param {number} row @param {string} name
   */
  share(row, name) {
    if (name === "shift") {
      const step = this.steps[this.stepOf(row)];
      return this.#shift(step, this.#rows[row] - step.row);
    }
    return this.#share(this.#at(row, name));
  }

  /**
   * What a group or a neighbourhood added to a draft's acceptance; null where there was none.
   * @param {number} row
   */
  gain(row) {
    if (!(this.#at(row, "refs") & 4)) return null;
    const acceptance = this.share(row, "acceptance");
    const p = this.share(row, "p");
    const q = this.share(row, "q");
    if (acceptance === null || p === null || !q) return null;
    return Math.max(0, acceptance - Math.min(1, p / q));
  }

  /** @param {number} value */
  #share(value) {
    return value === this.dtypes.none ? null : value / this.dtypes.one;
  }

  // The step, counted from 0, that a row is of.
  /** @param {number} row */
  stepOf(row) {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.steps[middle].first <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * All that a row says. The distributions, the group and the candidates are read when they are
   * used, since what goes through all rows uses few of them.
   * @returns {Row}
   * @param {number} i
   */
  row(i) {
    const lane = this;
    const step = this.stepOf(i);
    const at = this.#rows[i];
    const rank = this.steps[step].before + i - this.steps[step].first;
    const refs = this.#at(i, "refs");
    const drafted = this.#at(i, "draft");
    const shares = this.dtypes.shares.map((name) => [camelCase(name), this.share(i, name)]);
    return {
      cell: this.order[rank],
      step,
      draft: drafted === this.dtypes.none ? null : drafted,
      token: this.token(i),
      status: this.status(i),
      .../** @type {Shares} */ (Object.fromEntries(shares)),
      get top() {
        return lane.#top("positions", at);
      },
      get topDraft() {
        return lane.#topDraft(refs & 3, drafted, at, rank, step);
      },
      get group() {
        return refs & 4 ? lane.#group(lane.#place(at)[1], drafted) : null;
      },
      get candidates() {
        const first = refs >> 4 ? lane.#place(at)[2] : 0;
        return Array.from({ length: refs >> 4 }, (_, j) => lane.#candidate(first + j));
      },
    };
  }

  // Where the details of a row of `positions` begin in the other tables. They are counted from the
  // nearest row before it of which that is kept.
  /** @param {number} row */
  #place(row) {
    const last = Math.floor(row / STRIDE);
    for (let n = this.#places.length; n <= last; n++)
      this.#places.push(this.#count(n - 1, n * STRIDE));
    return this.#count(last, row);
  }

  /** @param {number} n @param {number} to */
  #count(n, to) {
    let [own, group, candidate] = this.#places[n];
    for (let row = n * STRIDE; row < to; row++) {
      const refs = this.tables.positions.at(row, "refs");
      own += Number((refs & 3) === SOURCE.own);
      group += (refs >> 2) & 1;
      candidate += refs >> 4;
    }
    return [own, group, candidate];
  }

  /**
   * The likeliest tokens of a distribution.
   * @param {string} table @param {number} row @returns {Share[]}
   */
  #top(table, row) {
    const tokens = this.tables[table].all(row, "top");
    const shares = this.tables[table].all(row, "top_shares");
    const known = tokens.filter((token) => token !== this.dtypes.none);
    return known.map((token, n) => [token, shares[n] / this.dtypes.one]);
  }

  /**
   * @param {number} source @param {number} draft @param {number} row @param {number} rank
   * @param {number} step @returns {Share[]}
   */
  #topDraft(source, draft, row, rank, step) {
    if (source === SOURCE.certain) return [[draft, 1]];
    if (source === SOURCE.own) return this.#top("distributions", this.#place(row)[0]);
    if (source !== SOURCE.before) return [];
    let earlier = this.steps[--step];
    while (rank < earlier.before || rank >= earlier.before + earlier.touched)
      earlier = this.steps[--step];
    return this.#top("positions", this.#rows[earlier.first + rank - earlier.before]);
  }

  /** @param {number} row @param {number} draft */
  #group(row, draft) {
    const { groups } = this.tables;
    const neighbours = groups.all(row, "neighbours");
    const others = neighbours.filter((token) => token !== this.dtypes.none);
    return {
      count: groups.at(row, "count"),
      p: groups.at(row, "p"),
      q: groups.at(row, "q"),
      tokens: [draft, ...others],
    };
  }

  /** @param {number} row */
  #candidate(row) {
    const { candidates } = this.tables;
    const { one } = this.dtypes;
    return {
      token: candidates.at(row, "token"),
      p: candidates.at(row, "p") / one,
      q: candidates.at(row, "q") / one,
      acceptance: candidates.at(row, "acceptance") / one,
      uniform: candidates.at(row, "uniform") / one,
    };
  }
}

/**
 * Reads a snapshot. Where it goes on from `previous`, the race so far, it takes over its lanes and
 * decodes only what has been added; `fresh` says that it is another race.
 * @param {Snapshot} snapshot @param {Race | null} previous @returns {Race}
 */
export function readRace(snapshot, previous) {
  const cells = snapshot.grid[0] * snapshot.grid[1];
  const fresh = !previous || !continues(snapshot, previous);
  const lanes = snapshot.lanes.map((wire, i) => {
    const table = fresh ? new StepTable(snapshot, wire.own_cells) : previous.lanes[i];
    const lane = /** @type {Lane} */ (table);
    lane.take(wire);
    return lane;
  });
  return { snapshot, grid: snapshot.grid, cells, lanes, fresh };
}

/**
 * Whether a snapshot is of the same race, and later. The cells are known only once it has begun.
 * @param {Snapshot} snapshot @param {Race} race
 */
export function continues(snapshot, { snapshot: before, lanes }) {
  return (
    snapshot.id === before.id &&
    snapshot.seq >= before.seq &&
    String(snapshot.cells) === String(before.cells) &&
    snapshot.lanes.every(
      (wire, i) =>
        String(wire.own_cells) === String(before.lanes[i].own_cells) && lanes[i].precedes(wire),
    )
  );
}
