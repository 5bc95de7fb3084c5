// Numbers and texts as people read them.

export const isKnown = (...values) =>
  values.every((value) => value !== null && value !== undefined);
export const inTimes = (n) => ["never", "once", "twice"][n] || `${n} times`;
export const countOf = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
export const capital = (text) => text[0].toUpperCase() + text.slice(1);
export const percent = (part, whole) => `${Math.round((100 * part) / whole)}%`;
export const inSeconds = (value) => (value < 10 ? value.toFixed(3) : value.toFixed(2));
// A cost in milliseconds, with two digits.
export function inMilliseconds(seconds) {
  const value = 1000 * seconds;
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}
// An instant of a clock, and the clock by its name.
export const onClock = (value, clock) =>
  clock === "passes" ? Math.floor(value) : inSeconds(value);
export const clockName = (clock) => (clock === "modelled" ? "modelled seconds" : clock);

export function ordinal(n) {
  const teen = n % 100 > 10 && n % 100 < 14;
  return n + (["th", "st", "nd", "rd"][teen ? 0 : n % 10] || "th");
}

// A probability with two or three significant digits; 2.3e-5 is 0.000023.
export function chance(value) {
  if (!isKnown(value)) return "–";
  if (value > 0 && value < 0.0001) return value.toExponential(1);
  if (value >= 0.995 && value < 0.9995) return value.toFixed(3);
  return String(Number(value >= 0.1 || value === 0 ? value.toFixed(2) : value.toPrecision(2)));
}

/**
 * Two probabilities whose ratio stands beside them, in as many digits, three at least, as give that
 * ratio as it is shown. A p that a file has as 0, where the ratio is not, is found from that.
 * @param {number} p @param {number} q @param {number} ratio @returns {[string, string]}
 */
export function dividing(p, q, ratio) {
  if (p === 0 && ratio > 0) return [(ratio * q).toExponential(1), chance(q)];
  /** @returns {any} */
  const inDigits = (digits) =>
    [p, q].map((x) => (x > 0 && x < 0.0001 ? chance(x) : String(Number(x.toPrecision(digits)))));
  const agrees = ([a, b]) => chance(Math.min(1, Number(a) / Number(b))) === chance(ratio);
  return [3, 4, 5].map(inDigits).find(agrees) ?? inDigits(3);
}

// A uniform number against the acceptance probability, with as many digits as tell them apart:
// "0.31 < 0.74", in one piece.
export function versus(uniform, acceptance) {
  let [a, b] = [chance(uniform), chance(acceptance)];
  for (let digits = 3; a === b && uniform !== acceptance && digits < 6; digits++) {
    [a, b] = [uniform.toFixed(digits), acceptance.toFixed(digits)];
  }
  return [a, uniform < acceptance ? "<" : "≥", b].join("\u00a0");
}
