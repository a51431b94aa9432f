/** One more neuron, whose line folds the decision boundary of a shallow two-class network of the plane behind a mistake. */
import { affine, outputs, parts, pattern } from "./net.js";

/** @typedef {import("./net.js").Net} Net one output: class 1 where it is positive */

const FLAT = 1e-12;

/** The points that the network gets wrong, by number. @param {Net} net @param {ArrayLike<number>} x @param {ArrayLike<number>} y */
export function mistakes(net, x, y) {
  return [...outputs(net, x)].flatMap((z, p) => (z > 0) !== y[p] > 0.5 ? [p] : []);
}

/**
 * The fold behind the instance `chosen`, as `foldnet.growth.folding.fold` computes it: the boundary w.x + b = 0 of the linear piece
 * that the instance lies in (for the predicted class minus the true one), the point of it closest to the instance, and a neuron
 * with its zero there, turned by `angle` away from the normal. No output on the data changes by more than `size`.
 * @param {Net} net @param {ArrayLike<number>} x @param {ArrayLike<number>} y labels @param {number} chosen
 */
export function fold(net, x, y, chosen, size = 0.1, angle = Math.PI / 4) {
  const at = [x[2 * chosen], x[2 * chosen + 1]], up = y[chosen] > 0.5 ? 1 : -1, f = outputs(net, x);
  const [row] = affine(net, at);
  let normal = [-up * row[0], -up * row[1]], offset = -up * row[2];
  const { weights } = parts(net);
  const mean = weights[0].reduce((sum, w) => sum + Math.hypot(...w), 0) / weights[0].length, scale = mean > 0 ? mean : 1;
  const flat = Math.hypot(...normal) <= FLAT * scale * Math.max(FLAT, ...weights[1][0].map(Math.abs));
  if (flat) [normal, offset] = wayOut(x, y, at, up);
  const square = normal[0] ** 2 + normal[1] ** 2, height = normal[0] * at[0] + normal[1] * at[1] + offset;
  const point = [at[0] - (height * normal[0]) / square, at[1] - (height * normal[1]) / square];
  const side = (height < 0 ? -1 : 1) / Math.sqrt(square), across = [side * normal[0], side * normal[1]];
  // of the two ways to turn, the one with the larger gradient at the new neuron
  const ways = [1, -1].map((sign) => [0, 1].map((k) => Math.cos(angle) * across[k] + sign * Math.sin(angle) * [-across[1], across[0]][k]));
  const pulls = ways.map((way) => pull(f, x, y, point, way, up));
  const way = ways[pulls[1] > pulls[0] ? 1 : 0], incoming = [scale * way[0], scale * way[1]];
  let reach = 0;
  for (let p = 0; p < y.length; p++) {
    reach = Math.max(reach, incoming[0] * (x[2 * p] - point[0]) + incoming[1] * (x[2 * p + 1] - point[1]));
  }
  const inside = !flat && String(pattern(net, point)) === String(pattern(net, at));
  const bias = -(incoming[0] * point[0] + incoming[1] * point[1]);
  return { at, point, normal, offset, incoming, bias, outgoing: (up * size) / (reach > 0 ? reach : 1), inside, flat };
}

/**
 * The mistake that stands for the costliest kind, as `foldnet.growth.typical.typical_mistake` finds it: mistakes are clustered by
 * k-means with their losses as weights; of the cluster with the highest mean loss it is the one closest to the centre. Null without one.
 * The search begins with the costliest mistake and, each time, the one farthest from those that it has.
 * @param {Net} net @param {ArrayLike<number>} x @param {ArrayLike<number>} y @returns {number | null}
 */
export function typical(net, x, y, clusters = 5) {
  const f = outputs(net, x), wrong = mistakes(net, x, y);
  if (!wrong.length) return null;
  const points = wrong.map((p) => [x[2 * p], x[2 * p + 1]]), loss = wrong.map((p) => Math.log1p(Math.exp(-Math.abs(f[p]))) + Math.abs(f[p])); // cross-entropies
  const centres = [[...points[most(loss)]]];
  while (centres.length < clusters) {
    const gaps = points.map((p) => Math.min(...centres.map((c) => gap(p, c)))), next = most(gaps);
    if (gaps[next] === 0) break; // no further places
    centres.push([...points[next]]);
  }
  /** @type {number[]} */
  let member = [];
  for (let round = 0, before = "-"; round < 100 && before !== String(member); round++) {
    before = String(member);
    member = points.map((p) => most(centres.map((c) => -gap(p, c))));
    centres.forEach((c, k) => {
      const weight = loss.map((w, i) => (member[i] === k ? w : 0)), all = weight.reduce((sum, w) => sum + w, 0);
      for (const d of all > 0 ? [0, 1] : []) c[d] = weight.reduce((sum, w, i) => sum + w * points[i][d], 0) / all;
    });
  }
  const means = centres.map((_, k) => {
    const mine = loss.filter((_, i) => member[i] === k);
    return mine.length ? mine.reduce((sum, w) => sum + w, 0) / mine.length : -Infinity;
  });
  const worst = most(means);
  return wrong[most(points.map((p, i) => (member[i] === worst ? -gap(p, centres[worst]) : -Infinity)))];
}

/** The place of the largest number, the first of equals. @param {number[]} list */
const most = (list) => list.reduce((best, v, i) => (v > list[best] ? i : best), 0);

/** @param {number[]} p @param {number[]} q */
const gap = (p, q) => (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2;

/**
 * The length of the gradient of the mean cross-entropy for weights and bias of a neuron along `way` through the fold point.
 * @param {ArrayLike<number>} f @param {ArrayLike<number>} x @param {ArrayLike<number>} y @param {number[]} point @param {number[]} way @param {number} up
 */
function pull(f, x, y, point, way, up) {
  const sum = [0, 0, 0];
  for (let p = 0; p < y.length; p++) {
    const a = x[2 * p], b = x[2 * p + 1];
    if ((a - point[0]) * way[0] + (b - point[1]) * way[1] <= 0) continue;
    const slope = up * (1 / (1 + Math.exp(-f[p])) - y[p]);
    sum[0] += slope * a;
    sum[1] += slope * b;
    sum[2] += slope;
  }
  return Math.hypot(...sum) / y.length;
}

/**
 * Where the piece is flat: from the nearest instance of the predicted class to the mistake, through the middle.
 * @param {ArrayLike<number>} x @param {ArrayLike<number>} y @param {number[]} at @param {number} up @returns {[number[], number]}
 */
function wayOut(x, y, at, up) {
  let best = Infinity, step = [1, 0];
  for (let p = 0; p < y.length; p++) {
    const gap = [at[0] - x[2 * p], at[1] - x[2 * p + 1]], far = Math.hypot(...gap);
    if (y[p] > 0.5 === up < 0 && far > 0 && far < best) [best, step] = [far, gap];
  }
  const length = Math.hypot(...step), normal = [step[0] / length, step[1] / length];
  return [normal, -(normal[0] * (at[0] - step[0] / 2) + normal[1] * (at[1] - step[1] / 2))];
}

/** The line w.x + b = 0 of each hidden neuron of the first layer: unit normal and distance, or null where w is 0. @param {Net} net */
export function switchingLines(net) {
  const { weights, biases } = parts(net);
  return weights[0].map((w, i) => {
    const length = Math.hypot(...w);
    return length > 0 ? { normal: [w[0] / length, w[1] / length], offset: biases[0][i] / length, strength: weights[1][0][i] * length } : null;
  });
}
