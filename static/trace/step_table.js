// The step table of a lane, read from the rows that Python sends.

import { Rows } from "./rows.js";

const SOURCE = { certain: 1, before: 2, own: 3 }; // where q's top tokens are found
const PARTS = ["forward", "verify", "cache", "draft"]; // of a step's time, in microseconds
const STRIDE = 64; // rows of `positions` between two of which it is kept where their details begin
// The sums before the first step.
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

// One lane of a race: its facts (title, state, passes, ...) and its step table. Sampled positions
// are counted from 0, without forced ones: `order` has the cells in the order in which they are
// committed, and `rank` each cell's place in it. That order is known from the start, unless the
// lane `isRolling`: then each row of its picture advances at its own pace, and `order` has the
// cells committed so far. A row here is one touched cell in one step, step after step, the cells
// that the step committed first.
export class StepTable {
  /** @type {Step[]} */
  steps = [];
  /** @type {number[]} for each row, how many earlier steps had touched its cell */
  waits = [];
  /** @type {number[][]} for each cell, the rows that touched it, oldest first */
  touches = [];
  /** @type {number[]} the ranks at which each step's tokens begin; per row of a rolling lane */
  runs = [];
  /** @type {Record<string, number>} */
  most = { waiting: 0, runs: 0 }; // the largest count that each of these layers ever shows
  /** @type {number[]} */
  #rows = []; // each row's number in the table `positions`, which has forced positions too
  /** @type {number[]} */
  #cells = []; // each row's cell
  priced = false; // whether the prices of its tokens are known
  #details = [[0, 0, 0]]; // where the details of every STRIDE-th row of `positions` begin

  /** @param {Snapshot} snapshot @param {ShownLane} lane */
  constructor({ cells: all, dtypes, grid, infilling: ofRace }, { own_cells: own, infilling }) {
    const cells = own.length ? own : all;
    const { known = [], parent = null } = infilling ?? ofRace ?? {};
    this.cells = cells; // of each sequence position
    this.columns = grid[1];
    this.dtypes = dtypes;
    this.known = known; // of an infilling: each cell's token, -1 if none
    this.fork = parent?.cell ?? null; // of a fork: the cell at which it leaves its parent
    this.order = cells.filter((cell) => cell >= 0);
    /** @type {number[]} */
    this.rank = [];
    this.order.forEach((cell, n) => (this.rank[cell] = n));
    this.isRaster = this.order.every((cell, n) => cell === n);
    this.total = this.order.length; // of all sampled cells
    this.committedBy = new Int32Array(this.total); // of each rank, the row that committed it
    this.tables = Object.fromEntries(
      Object.entries(dtypes.tables).map(([name, dtype]) => [name, new Rows(dtype)]),
    );
  }

  get count() {
    return this.steps.length;
  }

  /** True where each row of the picture advances at its own pace. */
  get isRolling() {
    return this.tables.places.count > 0;
  }

  /** The lane's seconds in the model's forward passes, verification, the cache and the drafter. */
  get split() {
    return PARTS.map((_, i) => this.steps.reduce((sum, { split }) => sum + split[i], 0));
  }

  /**
   * Return the token that stood at a cell before the race; null where a lane draws it.
   * @param {number} cell
   */
  knownToken(cell) {
    return this.known[cell] >= 0 ? this.known[cell] : null;
  }

  /**
   * Test whether a lane in a snapshot of the same race has at least the rows of this table. Rows
   * are added to a table and never change.
   * @param {LaneSnapshot} wire
   */
  precedes({ table }) {
    return Object.entries(this.tables).every(
      ([name, rows]) => table[name].length >= rows.text.length,
    );
  }

  /** @param {LaneSnapshot} wire */
  take({ table, ...facts }) {
    Object.assign(this, facts);
    for (const [name, text] of Object.entries(table)) this.tables[name].text = text;
    const known = this.count;
    const priced = this.priced;
    if (!known && this.isRolling) {
      this.order = [];
      this.rank = [];
      this.isRaster = false;
    }
    for (let k = known; k < this.tables.steps.count; k++) this.#take(k);
    this.priced = this.tables.prices.count > 0;
    for (let k = this.priced && !priced ? 0 : known; k < this.count; k++) this.#weigh(k);
  }

  // Sum up the shifts of a step.
  /** @param {number} k */
  #weigh(k) {
    const { tests, shifts } = this.steps[k - 1] ?? START;
    const step = this.steps[k];
    step.tests = tests;
    step.shifts = shifts;
    for (let i = 0; i < step.positions; i++) {
      const shift = this.cells[this.#positionOf(step, i)] < 0 ? null : this.#shift(step, i);
      if (shift === null) continue;
      step.tests += 1;
      step.shifts += shift;
    }
  }

  // Return the sequence position of a step's i-th row in `positions`.
  /** @param {Step} step @param {number} i */
  #positionOf({ row, reached, tokens }, i) {
    return this.isRolling ? this.tables.places.at(row + i, "position") : reached - tokens + i;
  }

  // Return the shift of a step's i-th position, forced ones counted: the test's or, once prices are
  // known, the token's. A rolling lane has none until then: its tests' shifts are not all of it.
  /** @param {Step} step @param {number} i */
  #shift(step, i) {
    const { positions, prices } = this.tables;
    if (this.priced && i < step.tokens)
      return this.#share(prices.at(this.#positionOf(step, i), "shift"));
    return this.isRolling ? null : this.#share(positions.at(step.row + i, "shift"));
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
      const cell = this.cells[this.#positionOf(step, i)];
      if (cell < 0) continue; // forced
      step.touched++;
      const touches = (this.touches[cell] ??= []);
      this.waits.push(touches.length);
      this.most.waiting = Math.max(this.most.waiting, touches.length + (i < tokens ? 0 : 1));
      touches.push(this.#rows.length);
      this.#rows.push(row + i);
      this.#cells.push(cell);
      if (i < tokens) this.#commit(step, cell);
    }
    if (step.after > before) this.most.runs = Math.max(this.most.runs, tokens);
  }

  // Commit a cell in a step; the newest row is the cell's.
  /** @param {Step} step @param {number} cell */
  #commit(step, cell) {
    const rank = step.after++;
    if (this.isRolling) {
      this.rank[cell] = rank;
      this.order.push(cell);
    }
    this.committedBy[rank] = this.#rows.length - 1;
    const isFirst = rank === step.before;
    if (isFirst || (this.isRolling && this.gridRow(this.order[rank - 1]) !== this.gridRow(cell)))
      this.runs.push(rank);
  }

  /** Return the row of the picture that a cell is in. @param {number} cell */
  gridRow(cell) {
    return Math.floor(cell / this.columns);
  }

  /** Return the cell that a row is about. @param {number} row */
  cellOf(row) {
    return this.#cells[row];
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
   * Return a probability or a distance of a row; null where there is none.
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
   * Return what a group or a neighbourhood added to a draft's acceptance probability; null where
   * there was none.
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

  // Return the index of the step that a row belongs to, counted from 0.
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
   * Return all fields of a row. The distributions, the group and the candidates are read on use,
   * because loops over all rows use few of them.
   * @returns {Row}
   * @param {number} i
   */
  row(i) {
    const lane = this;
    const step = this.stepOf(i);
    const at = this.#rows[i];
    const refs = this.#at(i, "refs");
    const drafted = this.#at(i, "draft");
    const shares = this.dtypes.shares.map((name) => [camelCase(name), this.share(i, name)]);
    return {
      cell: this.#cells[i],
      step,
      draft: drafted === this.dtypes.none ? null : drafted,
      token: this.token(i),
      status: this.status(i),
      .../** @type {Shares} */ (Object.fromEntries(shares)),
      ruleShift: this.#share(this.#at(i, "shift")),
      get top() {
        return lane.#top("positions", at);
      },
      get topDraft() {
        return lane.#topDraft(refs & 3, drafted, i);
      },
      get group() {
        return refs & 4 ? lane.#group(lane.#detailsOf(at)[1], drafted) : null;
      },
      get candidates() {
        const first = refs >> 4 ? lane.#detailsOf(at)[2] : 0;
        return Array.from({ length: refs >> 4 }, (_, j) => lane.#candidate(first + j));
      },
    };
  }

  // Return where the details of a row of `positions` begin in the other tables. They are counted
  // from the nearest earlier row whose place is kept.
  /** @param {number} row */
  #detailsOf(row) {
    const last = Math.floor(row / STRIDE);
    for (let n = this.#details.length; n <= last; n++)
      this.#details.push(this.#count(n - 1, n * STRIDE));
    return this.#count(last, row);
  }

  /** @param {number} n @param {number} to */
  #count(n, to) {
    let [own, group, candidate] = this.#details[n];
    for (let row = n * STRIDE; row < to; row++) {
      const refs = this.tables.positions.at(row, "refs");
      own += Number((refs & 3) === SOURCE.own);
      group += (refs >> 2) & 1;
      candidate += refs >> 4;
    }
    return [own, group, candidate];
  }

  /**
   * Return the likeliest tokens of a distribution.
   * @param {string} table @param {number} row @returns {Share[]}
   */
  #top(table, row) {
    const tokens = this.tables[table].all(row, "top");
    const shares = this.tables[table].all(row, "top_shares");
    const known = tokens.filter((token) => token !== this.dtypes.none);
    return known.map((token, n) => [token, shares[n] / this.dtypes.one]);
  }

  /** @param {number} source @param {number} draft @param {number} row @returns {Share[]} */
  #topDraft(source, draft, row) {
    const at = this.#rows[row];
    if (source === SOURCE.certain) return [[draft, 1]];
    if (source === SOURCE.own) return this.#top("distributions", this.#detailsOf(at)[0]);
    if (source !== SOURCE.before) return [];
    const earlier = this.touches[this.#cells[row]][this.waits[row] - 1];
    return this.#top("positions", this.#rows[earlier]);
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
 * Read a snapshot. If the snapshot continues `previous`, the race so far, take over the lanes of
 * `previous` and decode only new rows. `fresh` says that the lanes are new.
 * @param {Snapshot} snapshot @param {Race | null} previous @returns {Race}
 */
export function readRace(snapshot, previous) {
  const cells = snapshot.grid[0] * snapshot.grid[1];
  const fresh = !previous || !continues(snapshot, previous);
  const lanes = snapshot.lanes.map((wire, i) => {
    const table = fresh ? new StepTable(snapshot, wire) : previous.lanes[i];
    const lane = /** @type {Lane} */ (table);
    lane.take(wire);
    return lane;
  });
  return { snapshot, grid: snapshot.grid, cells, lanes, fresh };
}

// Test whether a snapshot continues the lanes of a race. Its cells are known only once it has
// begun: then its lanes are set out anew.
/** @param {Snapshot} snapshot @param {Race} race */
function continues(snapshot, { snapshot: before, lanes }) {
  return (
    snapshot.id === before.id &&
    isSame(snapshot.cells, before.cells) &&
    snapshot.lanes.every(
      (wire, i) => isSame(wire.own_cells, lanes[i].own_cells) && lanes[i].precedes(wire),
    )
  );
}

/** @param {number[]} a @param {number[]} b */
const isSame = (a, b) => a === b || (a.length === b.length && a.every((x, i) => x === b[i]));
