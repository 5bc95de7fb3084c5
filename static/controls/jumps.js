// Instants to show in a talk: the next rejection, the next draft that was saved, the largest TV.

import { isReadable, rowsOf } from "../tour/examples.js";
import { DID, wasSaved } from "../trace/explain.js";
import { lanesOn, stepsShown } from "../trace/replay.js";

/** @type {Record<"rejected" | "saved", (rule: string, row: Row) => boolean>} */
const OUTCOMES = {
  rejected: (_, { status }) => status === DID.RESAMPLED || status === DID.REJECTED,
  saved: wasSaved,
};

// All rows of the lanes to look in: that of the pinned token, else all that are shown.
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
 * The change that leads to the next (or, with `back`, the latest earlier) step in which a draft was
 * rejected or saved, and chooses that token; null where there is none.
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
 * The change that leads to the test of a draft whose distribution was furthest from the model's,
 * and chooses its token; null where none was tested. A fresh guess, which is far from any model, is
 * left out.
 * @param {Raced} state
 */
export function largestTv(state) {
  const tested = rowsShown(state).filter(
    ({ row }) => row.tv !== null && row.uniform !== null && isReadable(row),
  );
  tested.sort((a, b) => Number(b.row.tv) - Number(a.row.tv));
  return changeToRow(tested[0]);
}
