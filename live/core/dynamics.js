/** How the bends of a network of one variable move while it is trained, and moves that training never makes. The loss is half the sum of squares. */
import { network, parts } from "./net.js";
import { gradient } from "./train.js";

/** @typedef {{ w: number[], b: number[], v: number[], offset: number }} Shallow a 1-H-1 network, as figures keep it */

/** @param {Shallow} f */
export const deep = ({ w, b, v, offset }) => network([w.map((a) => [a]), [v]], [b, [offset]]);

/** @param {import("./net.js").Net} net 1-H-1 @returns {Shallow} */
export function shallow(net) {
  const { weights, biases } = parts(net);
  return { w: weights[0].map((w) => w[0]), b: biases[0], v: weights[1][0], offset: biases[1][0] };
}

/**
 * Gradient flow on the weights, seen from the spline: how fast each bend moves and each change of slope grows. A neuron with w = 0
 * has no bend: its speed is NaN.
 * @param {Shallow} f @param {number[]} x @param {number[]} y @returns {{ beta: number, mu: number }[]}
 */
export function velocity(f, x, y) {
  const h = f.w.length, { slope } = gradient(deep(f), x, y, "half_sum");
  return f.w.map((w, i) => {
    const [dw, db, dv] = [0, h, 2 * h].map((start) => -slope[start + i]);
    return { beta: w === 0 ? NaN : ((f.b[i] / w) * dw - db) / w, mu: Math.sign(w) * (w * dv + f.v[i] * dw) };
  });
}

/** How many data points each neuron is switched on at. @param {Shallow} f @param {number[]} x */
export const seen = ({ w, b }, x) => w.map((a, i) => x.filter((t) => a * t + b[i] > 0).length);

/**
 * Take away the neuron that is missed least and put it where one more bend helps most: midway between two neighbouring data points,
 * facing either way, with the best change of slope. Null where that would not lower the loss.
 * @param {Shallow} f @param {number[]} x @param {number[]} y @returns {{ f: Shallow, moved: number } | null}
 */
export function relocate(f, x, y) {
  const adds = f.w.map((w, i) => x.map((t) => f.v[i] * Math.max(0, w * t + f.b[i])));
  const rest = y.map((t, p) => t - f.offset - adds.reduce((sum, row) => sum + row[p], 0));
  const without = adds.map((row) => half(rest.map((e, p) => e + row[p]))), moved = without.indexOf(Math.min(...without));
  const best = bestHinge(x, rest.map((e, p) => e + adds[moved][p]));
  if (!best || !(without[moved] - best.gain < half(rest))) return null;
  const put = (/** @type {number[]} */ list, /** @type {number} */ value) => list.map((v, i) => (i === moved ? value : v));
  return { f: { w: put(f.w, best.side), b: put(f.b, -best.side * best.beta), v: put(f.v, best.mu), offset: f.offset }, moved };
}

/**
 * The hinge midway between two data points that takes most off half the sum of squared residuals, and how much.
 * @param {number[]} x @param {number[]} rest
 */
function bestHinge(x, rest) {
  const places = [...new Set(x)].sort((a, b) => a - b), midway = places.slice(1).map((t, k) => (t + places[k]) / 2);
  let best = /** @type {import("./bottleneck.js").Bend | null} */ (null);
  for (const side of [1, -1]) {
    for (const beta of midway) {
      let size = 0, overlap = 0;
      x.forEach((t, p) => {
        const phi = Math.max(0, side * (t - beta));
        size += phi * phi;
        overlap += phi * rest[p];
      });
      const gain = overlap ** 2 / (2 * size);
      if (!best || gain > best.gain) best = { beta, side, mu: overlap / size, gain };
    }
  }
  return best;
}

/** @param {number[]} list */
const half = (list) => list.reduce((sum, e) => sum + (e * e) / 2, 0);
