/** What a network of infinitely many small bends draws through its data: a cubic spline, as foldnet's `limit`. */
import { solve } from "./distances.js";

/** @typedef {"right" | "both"} Facing */

/** The integral of the products of two hinges over all places of [-reach, reach], for x and t in it. @param {number} x @param {number} t @param {number} reach @param {Facing} facing */
function kernel(x, t, reach, facing) {
  const right = (/** @type {number} */ u, /** @type {number} */ v) => {
    const low = Math.min(u, v) + reach, high = Math.max(u, v) + reach;
    return (low * low * (3 * high - low)) / 6;
  };
  return facing === "right" ? right(x, t) : right(x, t) + right(-x, -t);
}

/**
 * The limit for bends that fill [-reach, reach]: its value anywhere, and the integral of its squared second derivative over all bends.
 * With `line` a free straight line is added, and it is the natural spline.
 * @param {number[]} x @param {number[]} y @param {number} reach @param {Facing} facing
 */
export function limit(x, y, reach, facing, line = false) {
  const n = x.length, k = line ? 2 : 0, free = (/** @type {number} */ t) => [1, t].slice(0, k);
  const rows = x.map((u, p) => [...x.map((v) => kernel(u, v, reach, facing)), ...free(u), y[p]]);
  for (let j = 0; j < k; j++) rows.push([...x.map((v) => free(v)[j]), ...new Array(k + 1).fill(0)]);
  const a = solve(rows), knots = [-reach, ...x.filter((u) => Math.abs(u) < reach).sort((u, v) => u - v), reach];
  const bend = (/** @type {number} */ t) => x.reduce((sum, u, p) => sum + a[p] * (facing === "right" ? Math.max(0, u - t) : Math.abs(u - t)), 0);
  return {
    value: (/** @type {number} */ t) => free(t).reduce((sum, v, j) => sum + a[n + j] * v, x.reduce((sum, u, p) => sum + a[p] * kernel(u, t, reach, facing), 0)),
    // the second derivative is straight between knots, so Simpson's rule is exact
    bending: knots.slice(1).reduce((sum, v, p) => sum + ((v - knots[p]) / 6) * (bend(knots[p]) ** 2 + 4 * bend((knots[p] + v) / 2) ** 2 + bend(v) ** 2), 0),
  };
}
