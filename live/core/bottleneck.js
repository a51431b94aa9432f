/** What a small network of one variable lacks, and the neuron that helps most: by TINY's formula, and the best bend of all. */
import { deep } from "./dynamics.js";
import { outputs } from "./net.js";

/** @typedef {import("./dynamics.js").Shallow} Shallow */

/** How far beyond the data a bend may be. */
const FAR = 100;

/** What each point asks of the output: minus the gradient of half its squared error. @param {Shallow} f @param {number[]} x @param {number[]} y */
export function asked(f, x, y) {
  const z = outputs(deep(f), x);
  return y.map((v, p) => v - z[p]);
}

/** Half the mean of the squares. @param {number[]} rest */
export const meanLoss = (rest) => rest.reduce((sum, e) => sum + e * e, 0) / (2 * Math.max(1, rest.length));

/**
 * Coefficients with the least squared misfit of a target by some columns and, of all such, the smallest: columns are turned in pairs
 * until each is at a right angle to all others (one-sided Jacobi), which finds small directions as exactly as large ones.
 * @param {number[][]} columns @param {number[]} target @returns {number[]}
 */
function leastSquares(columns, target) {
  const a = columns.map((c) => Float64Array.from(c)), v = columns.map((_, i) => Float64Array.from(columns, (__, j) => +(i === j)));
  for (let sweep = 0, turned = true; turned && sweep < 60; sweep++) {
    turned = false;
    for (let i = 0; i < a.length; i++) {
      for (let j = i + 1; j < a.length; j++) {
        const p = dot(a[i], a[i]), q = dot(a[j], a[j]), r = dot(a[i], a[j]);
        if (Math.abs(r) <= 1e-16 * Math.sqrt(p * q)) continue;
        turned = true;
        const zeta = (q - p) / (2 * r), t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta)), c = 1 / Math.hypot(1, t);
        for (const m of [a, v]) turn(m[i], m[j], c, c * t);
      }
    }
  }
  const sizes = a.map((c) => dot(c, c)), floor = 1e-20 * Math.max(...sizes), found = new Array(a.length).fill(0);
  a.forEach((c, i) => {
    if (!(sizes[i] > floor)) return;
    const share = dot(c, target) / sizes[i];
    found.forEach((_, k) => (found[k] += share * v[i][k]));
  });
  return found;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
/** @param {Float64Array} a @param {Float64Array} b @param {number} c @param {number} s */
function turn(a, b, c, s) {
  for (let i = 0; i < a.length; i++) [a[i], b[i]] = [c * a[i] - s * b[i], s * a[i] + c * b[i]];
}

/**
 * The network after the best move of its outgoing weights and offset, the smallest of all best ones.
 * @param {Shallow} f @param {number[]} x @param {number[]} y @returns {Shallow}
 */
export function settled(f, x, y) {
  if (!x.length) return f;
  const columns = [...f.w.map((w, i) => x.map((t) => Math.max(0, w * t + f.b[i]))), x.map(() => 1)];
  const move = leastSquares(columns, asked(f, x, y));
  return { ...f, v: f.v.map((v, i) => v + move[i]), offset: f.offset + move[f.v.length] };
}

/**
 * TINY's optimal neuron for a residual: its preactivation is the regression line of the residual, up to its size, and of the two ways
 * to face it has the one that gains more. Null where the line says nothing. `singular` is the size that the formula promises.
 * @param {number[]} x @param {number[]} rest @returns {{ w: number, b: number, v: number, singular: number } | null}
 */
export function optimalNeuron(x, rest) {
  if (!x.length) return null;
  const [slope, constant] = leastSquares([x, x.map(() => 1)], rest), line = x.map((t) => slope * t + constant);
  const singular = Math.sqrt(dot(line, line) / x.length), root = Math.sqrt(singular);
  if (!(singular > 2 ** -39 * Math.sqrt(dot(rest, rest) / x.length))) return null;
  const sign = line.reduce((sum, z, p) => sum + Math.abs(z) * rest[p], 0) < 0 ? -1 : 1;
  return { w: (sign * slope) / root, b: (sign * constant) / root, v: sign * root, singular };
}

/**
 * The amplitude, at least 0, with which a neuron's outputs take most off the residual, and half the mean square that is left.
 * @param {{ w: number, b: number, v: number }} neuron @param {number[]} x @param {number[]} rest
 */
export function amplitude({ w, b, v }, x, rest) {
  const phi = x.map((t) => v * Math.max(0, w * t + b)), size = dot(phi, phi), best = size > 0 ? Math.max(0, dot(phi, rest) / size) : 0;
  return { amplitude: best, loss: meanLoss(rest.map((e, p) => e - best * phi[p])) };
}

/**
 * The best bend there is: place, side and change of slope that take most off the residual. On its switched-on side a hinge sees the
 * sums of e, ex, x and xx alone, so within a gap the gain is largest at one place in closed form, or at an end. Beyond the data it
 * is a line there, and at its farthest nearly a constant.
 * @typedef {{ beta: number, side: number, mu: number, gain: number }} Bend
 * @param {number[]} x @param {number[]} rest @returns {Bend | null}
 */
export function bestBend(x, rest) {
  const places = [...new Set(x)].sort((a, b) => a - b);
  /** @type {Bend | null} */
  let best = null;
  for (const side of [1, -1]) {
    places.forEach((end, k) => {
      // the hinge stands between `end` and the next place beyond it, on the side where it is off
      const from = places[k - side] ?? end - side * FAR, on = x.flatMap((t, p) => (side * (t - end) >= 0 ? [p] : []));
      const [n, e, c, l, q] = /** @type {((p: number) => number)[]} */ ([() => 1, (p) => rest[p], (p) => rest[p] * x[p], (p) => x[p], (p) => x[p] ** 2]).map((g) => on.reduce((sum, p) => sum + g(p), 0));
      const top = (e * q - c * l) / (e * l - c * n), inside = side * (top - from) > 0 && side * (end - top) > 0;
      for (const beta of inside ? [top, from, end] : [from, end]) {
        const phi = x.map((t) => Math.max(0, side * (t - beta))), size = dot(phi, phi), overlap = dot(phi, rest);
        const gain = size > 0 ? overlap ** 2 / (2 * size) : 0;
        if (gain > (best?.gain ?? 0)) best = { beta, side, mu: overlap / size, gain };
      }
    });
  }
  return best;
}
