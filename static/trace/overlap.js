// The overlap of p and q of a tested draft, token by token. It shows why a draft is accepted with
// probability 1 − TV(p, q), and why the committed token comes from p (Leviathan et al., ICML 2023,
// Sec. 3.2 and App. A.1).

const NAMED = 5; // tokens that are shown by themselves

/**
 * Return p and q of a row's draft: for at most NAMED tokens whose p and q are both known, the
 * likeliest first, and for all other tokens together. The other tokens get the part of 1 − TV that
 * the named tokens leave, so nothing is guessed about tokens that the step table does not name.
 * Return null if no draft was tested, or if the draft was certain.
 * @param {Pick<Row, "draft" | "p" | "q" | "tv" | "top" | "topDraft">} row @returns {Overlap | null}
 */
export function overlapOf({ draft, p, q, tv, top, topDraft }) {
  if (draft === null || p === null || q === null || tv === null || topDraft.length < 2) return null;
  const [ofP, ofQ] = [new Map(top).set(draft, p), new Map(topDraft).set(draft, q)];
  /** @type {Overlap["tokens"]} */
  const known = [];
  for (const [token, share] of ofP) {
    const other = ofQ.get(token);
    if (other !== undefined)
      known.push({ token, p: share, q: other, shared: Math.min(share, other) });
  }
  const tokens = known.sort((a, b) => Math.max(b.p, b.q) - Math.max(a.p, a.q)).slice(0, NAMED);
  /** @param {"p" | "q" | "shared"} name @param {number} whole */
  const left = (name, whole) =>
    Math.max(
      0,
      tokens.reduce((rest, token) => rest - token[name], whole),
    );
  const others = { p: left("p", 1), q: left("q", 1) };
  const shared = Math.min(left("shared", 1 - tv), others.p, others.q);
  return { tokens, others: { ...others, shared }, tv };
}

/**
 * Split a token's probability into parts: kept, rejected, and redrawn, once q is replaced by q +
 * share × (p − q). What p and q do not share shrinks by the same factor for all tokens.
 * @param {Shared} token @param {number} share from 0, the race's own q, to 1, p
 */
export function partsOf({ p, q, shared }, share) {
  const redrawn = (1 - share) * (p - shared);
  return { kept: p - redrawn, rejected: (1 - share) * (q - shared), redrawn };
}
