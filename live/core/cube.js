/** Functions on the corners of a cube, seen along a line. Corner k has the binary digits of k as coordinates, the first input first. */

/** One weight vector for each order in which a line can meet the corners, up to symmetry of the cube. @type {Record<number, number[][]>} */
const ORDERS = {
  3: [[1, 2, 4], [2, 3, 4]],
  4: [[3, 5, 6, 7], [1, 2, 4, 8], [2, 3, 4, 8], [2, 4, 5, 8], [1, 4, 6, 8], [3, 4, 6, 8], [4, 5, 6, 8], [2, 4, 7, 8], [2, 3, 4, 10], [2, 3, 6, 10], [2, 4, 7, 10], [2, 6, 7, 10], [3, 4, 8, 10], [3, 6, 8, 10]],
};

/** The corners of the n-cube, coordinates -1 and 1. @param {number} n */
export function corners(n) {
  return Array.from({ length: 2 ** n }, (_, k) => Array.from({ length: n }, (__, j) => ((k >> (n - 1 - j)) & 1 ? 1 : -1)));
}

/** The corners by number in the order in which a line of this direction meets them. @param {number[]} weights */
export function order(weights) {
  const place = corners(weights.length).map((c) => c.reduce((sum, v, j) => sum + v * weights[j], 0));
  return place.map((_, k) => k).sort((a, b) => place[a] - place[b] || a - b);
}

/** How often the class changes along the line. @param {number[]} table 0 or 1 for each corner @param {number[]} weights */
export function changes(table, weights) {
  const along = order(weights);
  return along.slice(1).filter((k, i) => table[k] !== table[along[i]]).length;
}

/** The swaps value: the fewest changes along any line, exactly, and a line that has them. @param {number[]} table of 3 or 4 inputs */
export function fewest(table) {
  const n = Math.log2(table.length);
  let best = { swaps: Infinity, weights: /** @type {number[]} */ ([]) };
  for (const row of ORDERS[n]) {
    for (const way of permutations(row)) {
      for (let signs = 0; signs < 2 ** n; signs++) {
        const weights = way.map((w, j) => ((signs >> j) & 1 ? -w : w)), swaps = changes(table, weights);
        if (swaps < best.swaps) best = { swaps, weights };
      }
    }
  }
  return best;
}

/** @param {number[]} list @returns {number[][]} */
function permutations(list) {
  return list.length < 2 ? [list] : list.flatMap((v, i) => permutations([...list.slice(0, i), ...list.slice(i + 1)]).map((rest) => [v, ...rest]));
}

/**
 * A frame of n perpendicular directions, turned by an angle in the plane of two of them.
 * @param {number[][]} frame @param {number} i @param {number} j @param {number} angle
 */
export function turn(frame, i, j, angle) {
  const c = Math.cos(angle), s = Math.sin(angle), next = frame.map((v) => [...v]);
  for (let k = 0; k < frame.length; k++) {
    next[i][k] = c * frame[i][k] + s * frame[j][k];
    next[j][k] = c * frame[j][k] - s * frame[i][k];
  }
  return next;
}

/** A frame whose first direction is the given one. @param {number[]} weights */
export function frameOf(weights) {
  /** @type {number[][]} */
  const frame = [];
  for (const v of [weights, ...weights.map((_, i) => weights.map((__, j) => +(i === j)))]) {
    let w = v;
    for (const f of frame) {
      const along = w.reduce((sum, a, k) => sum + a * f[k], 0);
      w = w.map((a, k) => a - along * f[k]);
    }
    const length = Math.hypot(...w);
    if (length > 1e-6 * Math.hypot(...v) && frame.length < weights.length) frame.push(w.map((a) => a / length));
  }
  return frame;
}
