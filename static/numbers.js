// Numbers and texts as people read them.

/** @template T @param {T} value @returns {value is NonNullable<T>} */
export const isKnown = (value) => value !== null && value !== undefined;
/** Return the last item. @template T @param {readonly T[]} items @returns {T} */
export const lastOf = (items) => items[items.length - 1];
/** @param {number} n */
export const inTimes = (n) => ["never", "once", "twice"][n] || `${n} times`;
/** @param {number} n @param {string} one */
export const countOf = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
/** @param {string} text */
export const capital = (text) => text[0].toUpperCase() + text.slice(1);
/** @param {number} part @param {number} whole */
export const percent = (part, whole) => `${Math.round((100 * part) / whole)}%`;
/** @param {number} value */
export const inSeconds = (value) => (value < 10 ? value.toFixed(3) : value.toFixed(2));
// Write a cost in milliseconds, with two digits.
/** @param {number} seconds */
export function inMilliseconds(seconds) {
  const value = 1000 * seconds;
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}
// Write an instant of a clock: whole passes, or seconds.
/** @param {number} value @param {Clock} clock */
export const onClock = (value, clock) =>
  clock === "passes" ? Math.floor(value) : inSeconds(value);
/** @param {Clock} clock */
export const clockName = (clock) => (clock === "modelled" ? "modelled seconds" : clock);

/** @param {number} n */
export function ordinal(n) {
  const teen = n % 100 > 10 && n % 100 < 14;
  return n + (["th", "st", "nd", "rd"][teen ? 0 : n % 10] || "th");
}

// Write a probability with two or three significant digits; 2.3e-5 is 0.000023.
/** @param {number | null | undefined} value */
export function chance(value) {
  if (!isKnown(value)) return "–";
  if (value > 0 && value < 0.0001) return value.toExponential(1);
  if (value >= 0.995 && value < 0.9995) return value.toFixed(3);
  return String(Number(value >= 0.1 || value === 0 ? value.toFixed(2) : value.toPrecision(2)));
}

/** @param {number} share @param {number} digits */
const digitsOf = (share, digits) =>
  share > 0 && share < 0.0001 ? chance(share) : String(Number(share.toPrecision(digits)));

// Say what a shift (TV) does to tokens: that share of the distribution is not the model's.
/** @param {number} shift */
export const asTokens = (shift) =>
  `as if ${Number((100 * shift).toPrecision(2))} in 100 tokens were not the model's`;

/**
 * Write two probabilities with as few digits (three to five) as make their quotient agree with the
 * ratio that is shown beside them. If a file has p = 0 but a larger ratio, compute p from the
 * ratio.
 * @param {number} p @param {number} q @param {number | null} ratio @returns {[string, string]}
 */
export function dividing(p, q, ratio) {
  if (p === 0 && ratio) return [(ratio * q).toExponential(1), chance(q)];
  /** @param {number} digits @returns {[string, string]} */
  const inDigits = (digits) => [digitsOf(p, digits), digitsOf(q, digits)];
  /** @param {[string, string]} pair */
  const agrees = ([a, b]) => chance(Math.min(1, Number(a) / Number(b))) === chance(ratio);
  return [3, 4, 5].map(inDigits).find(agrees) ?? inDigits(3);
}

// Compare a uniform number with an acceptance probability, with as many digits as tell them apart:
// "0.31", "<", "0.74".
/** @param {number} uniform @param {number} acceptance */
export function compared(uniform, acceptance) {
  let a = chance(uniform);
  let b = chance(acceptance);
  for (let digits = 3; a === b && uniform !== acceptance && digits < 6; digits++) {
    a = uniform.toFixed(digits);
    b = acceptance.toFixed(digits);
  }
  return [a, uniform < acceptance ? "<" : "≥", b];
}

// The same as one text, whose spaces do not break.
/** @param {number} uniform @param {number} acceptance */
export const versus = (uniform, acceptance) => compared(uniform, acceptance).join("\u00a0");

/** @param {number} cell @param {number} columns */
export const cellInWords = (cell, columns) =>
  `row ${Math.floor(cell / columns) + 1}, column ${(cell % columns) + 1}`;
