/** What very wide networks draw: sums of powers of distances to the data. And how much of normal noise a staircase loses. */

/**
 * The monomials of degree at most `most` in two variables, as foldnet's `monomials` orders them: 1, x, y, x², xy, y², ...
 * @param {number[]} at @param {number} most @returns {number[]}
 */
export function monomials([x, y], most) {
  const found = [];
  for (let degree = 0; degree <= most; degree++) for (let k = 0; k <= degree; k++) found.push(x ** (degree - k) * y ** k);
  return found;
}

/**
 * The law of a wide network of two inputs whose activation is a ramp to a power: sum a_n |t - x_n|^(2 power + 1) plus a polynomial.
 * A power halfway between two whole numbers is refused: an even power of distances would be a polynomial.
 * @param {number[][]} points x, y and height of each @param {number} power @returns {(at: number[]) => number}
 */
export function surface(points, power) {
  if (Math.abs((power - 0.5) % 1) < 1e-9) throw new Error(`the power ${power} makes an even power of distances`);
  const most = Math.ceil(power + 0.5) - 1, exponent = 2 * power + 1, n = points.length;
  const free = points.map((p) => monomials(p, most)), k = free[0].length;
  const bend = (/** @type {number[]} */ p, /** @type {number[]} */ q) => Math.hypot(p[0] - q[0], p[1] - q[1]) ** exponent;
  const rows = points.map((p, i) => [...points.map((q) => bend(p, q)), ...free[i], p[2]]);
  for (let j = 0; j < k; j++) rows.push([...free.map((f) => f[j]), ...new Array(k + 1).fill(0)]);
  const a = solve(rows);
  return (at) => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += a[i] * bend(at, points[i]);
    monomials(at, most).forEach((m, j) => {
      sum += a[n + j] * m;
    });
    return sum;
  };
}

/** Gauss with pivots; the last column is the right side, and the rows are used up. @param {number[][]} rows @returns {number[]} */
export function solve(rows) {
  const n = rows.length, get = (/** @type {number} */ i, /** @type {number} */ j) => /** @type {number} */ (rows[i]?.[j]);
  for (let c = 0; c < n; c++) {
    let best = c;
    for (let r = c + 1; r < n; r++) if (Math.abs(get(r, c)) > Math.abs(get(best, c))) best = r;
    const top = /** @type {number[]} */ (rows[best]);
    rows[best] = /** @type {number[]} */ (rows[c]);
    rows[c] = top;
    for (let r = c + 1; r < n; r++) {
      const row = /** @type {number[]} */ (rows[r]), f = /** @type {number} */ (row[c]) / /** @type {number} */ (top[c]);
      if (f) for (let j = c; j <= n; j++) row[j] = /** @type {number} */ (row[j]) - f * /** @type {number} */ (top[j]);
    }
  }
  const x = new Array(n).fill(0);
  for (let r = n - 1; r >= 0; r--) {
    let rest = get(r, n);
    for (let j = r + 1; j < n; j++) rest -= get(r, j) * x[j];
    x[r] = rest / get(r, r);
  }
  return x;
}

/** The normal distribution function, to twelve digits: a series near zero, a continued fraction far from it. @param {number} z */
export function below(z) {
  const a = Math.abs(z), dense = Math.exp((-a * a) / 2) / Math.sqrt(2 * Math.PI);
  let tail;
  if (a < 3) {
    let term = a, sum = a;
    for (let k = 1; Math.abs(term) > 1e-17 * Math.abs(sum) && k < 200; k++) sum += term *= (a * a) / (2 * k + 1);
    tail = 0.5 - dense * sum;
  } else {
    let f = a;
    for (let k = 120; k > 0; k--) f = a + k / f;
    tail = dense / f;
  }
  return z > 0 ? 1 - tail : tail;
}

/** Where the normal distribution function has a value between 0 and 1, by bisection. @param {number} share */
export function quantile(share) {
  let low = -9, high = 9;
  for (let k = 0; k < 60; k++) {
    const middle = (low + high) / 2;
    if (below(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Where a staircase to `count` targets steps up, so that all get equal shares of normal noise. @param {number} count */
export const levels = (count) => Array.from({ length: count - 1 }, (_, k) => quantile((k + 1) / count));

/** The share of normal noise that a staircase loses in gaps of this width. @param {number} count @param {number} gap @param {number} steep */
export const lost = (count, gap, steep) => levels(count).reduce((sum, at) => sum + below(at + gap / (2 * steep)) - below(at - gap / (2 * steep)), 0);
