// Instants to show in a talk: the next rejection, the next draft that was saved, the largest TV.

import { isReadable, rowsOf } from "../tour/examples.js";
import { DID, wasSaved } from "../trace/explain.js";
import { lanesOn, stepsShown } from "../trace/replay.js";

/** @type {Record<"rejected" | "saved", (rule: string, row: Row) => boolean>} */
const OUTCOMES = {
  rejected: (_, { status }) => status === DID.RESAMPLED || status === DID.REJECTED,
  saved: wasSaved,
};

// Return all rows of the pinned token's lane, or else of all shown lanes, each with its lane's
// index.
/** @param {Raced} state */
function rowsShown(state) {
  const { race, cell } = state;
  const looked = cell?.pinned ? [cell.lane] : lanesOn(state);
  return looked.flatMap((i) => rowsOf(race.lanes[i]).map((row) => ({ i, row })));
}

/** @param {{ i: number, row: LifeRow } | undefined} found @returns {Change | null} */
const changeToRow = (found) =>
  found
    ? {
        lane: found.i,
        step: found.row.at + 1,
        cell: { lane: found.i, cell: found.row.cell, pinned: true },
        playing: false,
      }
    : null;

/**
 * Return the change that goes to the next step in which a draft was rejected or saved, and pins the
 * draft's token. With `back`, go to the latest earlier step. Return null if there is none.
 * @param {Raced} state @param {keyof typeof OUTCOMES} outcome @returns {Change | null}
 */
export function outcomeTarget(state, outcome, back = false) {
  const { race, clock } = state;
  const steps = stepsShown(state);
  const found = rowsShown(state).filter(({ i, row }) => {
    const ahead = back ? row.at < steps[i] - 1 : row.at >= steps[i];
    return ahead && OUTCOMES[outcome](race.lanes[i].rule, row);
  });
  /** @param {{ i: number, row: LifeRow }} one */
  const time = ({ i, row }) => race.lanes[i].steps[row.at][clock];
  found.sort((a, b) => time(a) - time(b));
  return changeToRow(back ? found.at(-1) : found[0]);
}

/**
 * Return the change that goes to the tested draft with the largest TV(p, q), and pins its token.
 * Return null if no draft was tested. Fresh guesses are left out, because they are far from any
 * model.
 * @param {Raced} state
 */
export function largestTv(state) {
  const tested = rowsShown(state).filter(
    ({ row }) => row.tv !== null && row.uniform !== null && isReadable(row),
  );
  tested.sort((a, b) => Number(b.row.tv) - Number(a.row.tv));
  return changeToRow(tested[0]);
}
