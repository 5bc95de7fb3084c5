// The two distributions of a cell's test, p and q, as bars.

import { chance } from "../numbers.js";
import { DID, OUTSIDE } from "../trace/explain.js";
import { html, nothing } from "../vendor/lit-html.js";
import { forkButton, forkOthers } from "./fork.js";
import { swatchOf } from "./swatch.js";

/** @param {CellView} view @param {LifeRow} row */
export function distributionsOf(view, row) {
  const { lane, cell, cells, codes } = view;
  const q = `q: ${sourceOf(lane, row)}`;
  const forks = row.committed && cell < cells - 1 ? forkButton : null;
  const others = forks && forkOthers(codes, cell === 0);
  return [
    distributionOf(view, row, "p: the model's distribution", row.top, row.p, row.topDraft, forks),
    distributionOf(view, row, q, row.topDraft, row.q, row.top, null),
    others ?? nothing,
  ];
}

// Name the source of q in a newcomer's words.
/** @param {Lane} lane @param {LifeRow} row */
function sourceOf(lane, { draft, topDraft }) {
  if (draft === null || !topDraft.length) return "no draft";
  const certain = topDraft.length === 1 && topDraft[0][0] === draft;
  if (lane.decoder === "lantern" && lane.drafter) {
    return certain ? "the drafter's choice, certain" : "the drafter's distribution";
  }
  const guess = lane.rule === OUTSIDE ? "the draft, certain" : "a fresh guess, certain";
  return certain ? guess : "the draft's distribution";
}

// Draw the likeliest tokens as bars. A thin line on a bar is the same token's probability in the
// other distribution, where known.
/**
 * @param {CellView} view @param {LifeRow} row @param {string} title @param {Share[]} top
 * @param {number | null} share @param {Share[]} other
 * @param {((token: number) => unknown) | null} act draws the button beside a token
 */
function distributionOf({ codes }, row, title, top, share, other, act) {
  const { draft, token } = row;
  const shares = [...top];
  if (draft !== null && share !== null && !shares.some(([id]) => id === draft))
    shares.push([draft, share]);
  const scale = Math.max(0, ...[...top, ...other].map(([, p]) => p)) || 1;
  const bars = shares.map(([id, p], i) => {
    const elsewhere = other.find(([otherId]) => otherId === id);
    const { words, mark } = roleOf(id, row);
    const names = [
      "bar-row",
      i >= top.length && "beyond",
      (id === draft || id === token) && "marked",
    ];
    return html`<div class=${names.filter(Boolean).join(" ")}>
      ${swatchOf(id, codes, 20, mark)}
      <span class="bar-id">${id}</span>
      <i class="bar">
        <i class="bar-fill" style=${`width: ${(100 * p) / scale}%`}></i>
        ${elsewhere ? html`<i class="bar-other" style=${`left: ${(100 * elsewhere[1]) / scale}%`}></i>` : nothing}
      </i>
      <span class="bar-share">${chance(p)}</span>
      <b class="bar-mark">${words}</b>
      ${act ? act(id) : nothing}
    </div>`;
  });
  return html`<figure class="distribution">
    <figcaption>${title}</figcaption>
    ${bars.length ? bars : html`<p class="bar-none">Nothing recorded.</p>`}
  </figure>`;
}

// Return a token's role in a row: the word beside its bar, and the mark of its swatch.
/** @param {number} id @param {LifeRow} row */
function roleOf(id, { draft, token, committed, status }) {
  if (id === token && committed)
    return { words: status === DID.ACCEPTED ? "accepted" : "token", mark: "final" };
  if (id === draft && id !== token) return { words: "draft", mark: "draft" };
  if (id !== token) return { words: "", mark: "" };
  if (id !== draft) return { words: "next", mark: "" };
  return { words: status === DID.DROPPED ? "dropped" : "kept", mark: "draft" };
}
