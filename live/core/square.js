/**
 * XOR on the four corners of the square and two neurons, v(x) = c + o1 max(f1(x), 0) + o2 max(f2(x), 0): nine numbers, in the layout of
 * `foldnet.ReLUNet.vector()`, w11, w12, w21, w22, b1, b2, o1, o2, c. The same as `foldbook.chapters.optima_plane`.
 */

export const CORNERS = [[-1, -1], [-1, 1], [1, -1], [1, 1]];
export const XOR = CORNERS.map(([p, q]) => -p * q);
/** The losses at which training rests. */
export const LOSSES = [0, 2, 8 / 3, 4];
const SAID = [
  "All four corners are met",
  "Two neighbouring corners are met, the other two are left at zero",
  "One corner is met, the other three share a compromise",
  "All four corners are given the same, zero",
];

/** What the network says at a point. @param {number[]} t @param {number[]} x */
export function said([w11, w12, w21, w22, b1, b2, o1, o2, c], [p, q]) {
  return c + o1 * Math.max(w11 * p + w12 * q + b1, 0) + o2 * Math.max(w21 * p + w22 * q + b2, 0);
}

/** The sum of the four squared errors. @param {number[]} t */
export const loss = (t) => CORNERS.reduce((sum, x, k) => sum + (said(t, x) - XOR[k]) ** 2, 0);

/** Which of the four losses this is, -1 for none. @param {number} value */
export const level = (value) => LOSSES.findIndex((l) => Math.abs(l - value) < 0.01);

/** The end of this loss in words; empty where it is none. @param {number} value */
export const ending = (value) => SAID[level(value)] ?? "";

/** The line of a neuron inside a square of this half side: its two ends, or none. @param {number[]} t @param {number} i @param {number} reach */
export function crease(t, i, reach) {
  const [a, b] = t.slice(2 * i, 2 * i + 2), c = t[4 + i], size = a * a + b * b;
  if (!size) return [];
  let [low, high] = [-Infinity, Infinity];
  const foot = [(-c * a) / size, (-c * b) / size], way = [-b, a];
  for (const k of [0, 1]) {
    if (!way[k]) {
      if (Math.abs(foot[k]) > reach) return [];
      continue;
    }
    const ends = [(-reach - foot[k]) / way[k], (reach - foot[k]) / way[k]].sort((p, q) => p - q);
    [low, high] = [Math.max(low, ends[0]), Math.min(high, ends[1])];
  }
  return low < high ? [low, high].map((s) => foot.map((f, k) => f + s * way[k])) : [];
}

/** The network whose neuron has its line through this point and at a right angle to the way from 0 to there, on where it was on. @param {number[]} t @param {number} i @param {number[]} at */
export function through(t, i, at) {
  const [a, b] = t.slice(2 * i, 2 * i + 2), size = Math.hypot(a, b) || 1, far = Math.hypot(...at), next = [...t];
  const out = a * at[0] + b * at[1] < 0 ? -1 : 1, way = far > 0.05 ? at.map((v) => (out * v) / far) : [a / size, b / size];
  [next[2 * i], next[2 * i + 1]] = way.map((v) => v * size);
  next[4 + i] = -size * (way[0] * at[0] + way[1] * at[1]);
  return next;
}
