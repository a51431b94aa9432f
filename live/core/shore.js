/** The water in a valley that a few neurons make, f(p) = sum of push * max(row . p + bias, 0): where its shore has corners. */

/**
 * @typedef {{ row: number[], bias: number, push: number }} Ramp
 * @param {Ramp[]} ramps @param {number[]} p
 */
export const depth = (ramps, [x, y]) => ramps.reduce((sum, { row, bias, push }) => sum + push * Math.max(0, row[0] * x + row[1] * y + bias), 0);

/**
 * The corners of the shore at a level, in order around the lake: the points at this height on the creases, each with the creases it
 * lies on. The creases cross in pairs, and the lake ends on every side.
 * @param {Ramp[]} ramps @param {number} level @returns {{ at: number[], on: number[] }[]}
 */
export function shore(ramps, level) {
  /** @type {{ at: number[], on: number[] }[]} */
  const found = [];
  ramps.forEach(({ row: [a, b], bias }, i) => {
    const size = a * a + b * b, at = (/** @type {number} */ t) => [(-bias * a) / size - t * b, (-bias * b) / size + t * a], height = (/** @type {number} */ t) => depth(ramps, at(t)) - level;
    const crossing = ramps.flatMap(({ row: [c, d], bias: e }, j) => (j === i ? [] : [-(c * at(0)[0] + d * at(0)[1] + e) / (d * a - c * b)])).sort((s, t) => s - t);
    // along its crease the height is straight between crossings, so two places tell a piece
    const ends = [-Infinity, ...crossing, Infinity], known = [Math.min(...crossing) - 1, ...crossing, Math.max(...crossing) + 1];
    for (let k = 0; k + 1 < known.length; k++) {
      const [u, v] = [height(known[k]), height(known[k + 1])], t = known[k] + ((known[k + 1] - known[k]) * u) / (u - v);
      if (u !== v && t >= ends[k] - 1e-9 && t <= ends[k + 1] + 1e-9) found.push({ at: at(t), on: [i] });
    }
  });
  /** @type {{ at: number[], on: number[] }[]} */
  const corners = [];
  for (const one of found) {
    const same = corners.find((c) => Math.hypot(c.at[0] - one.at[0], c.at[1] - one.at[1]) < 1e-7);
    if (same) same.on = [...new Set([...same.on, ...one.on])];
    else corners.push(one);
  }
  const middle = [0, 1].map((k) => corners.reduce((sum, c) => sum + c.at[k], 0) / corners.length), turn = (/** @type {{ at: number[] }} */ { at }) => Math.atan2(at[1] - middle[1], at[0] - middle[0]);
  return corners.sort((p, q) => turn(p) - turn(q));
}
