/** In which direction a function of the plane changes most, and how much of it one number explains. */

/** The mean of g g', and the mean of g. @param {number[][]} slopes */
export function moments(slopes) {
  const n = slopes.length, mean = (/** @type {(g: number[]) => number} */ of) => slopes.reduce((sum, g) => sum + of(g), 0) / n;
  const second = [0, 1].map((i) => [0, 1].map((k) => mean((g) => g[i] * g[k])));
  return { second, mean: [mean((g) => g[0]), mean((g) => g[1])] };
}

/** The mean squared slope along an angle. @param {number[][]} second @param {number} angle */
export function along(second, angle) {
  const w = [Math.cos(angle), Math.sin(angle)];
  return w[0] * w[0] * second[0][0] + 2 * w[0] * w[1] * second[0][1] + w[1] * w[1] * second[1][1];
}

/** The angle of the leading direction, turned so that the function rises along it on average. @param {ReturnType<typeof moments>} of */
export function leading({ second: [[a, b], [, d]], mean }) {
  const angle = Math.atan2(2 * b, a - d) / 2;
  return mean[0] * Math.cos(angle) + mean[1] * Math.sin(angle) < 0 ? angle + (angle > 0 ? -Math.PI : Math.PI) : angle;
}

/**
 * The share of the variance of an output that the best curve over a projection explains, as `foldnet.geometry.sensitivity.explained`:
 * each half of the points is predicted by the curve of the other half.
 * @param {number[]} t @param {number[]} f @param {number} bins
 */
export function explained(t, f, bins) {
  const half = (/** @type {number} */ k) => t.map((_, p) => p).filter((p) => p % 2 === k), mean = f.reduce((sum, v) => sum + v, 0) / f.length;
  let left = 0;
  for (const k of [0, 1]) {
    const at = curve(half(1 - k).map((p) => [t[p], f[p]]), bins);
    for (const p of half(k)) left += (f[p] - at(t[p])) ** 2;
  }
  return 1 - left / f.reduce((sum, v) => sum + (v - mean) ** 2, 0);
}

/** Straight lines between the means of bins of equal count; beyond its ends it goes on straight. @param {number[][]} points @param {number} bins */
export function curve(points, bins) {
  const each = Math.floor(points.length / bins), first = Math.floor((points.length - bins * each) / 2), sorted = [...points].sort((p, q) => p[0] - q[0]);
  const knots = Array.from({ length: bins }, (_, k) => [0, 1].map((i) => sorted.slice(first + k * each, first + (k + 1) * each).reduce((sum, p) => sum + p[i], 0) / each));
  return (/** @type {number} */ x) => {
    let end = knots.findIndex((p) => p[0] >= x);
    end = end < 0 ? bins - 1 : Math.max(1, end);
    const [[x0, y0], [x1, y1]] = [knots[end - 1], knots[end]];
    return y0 + (y1 - y0) * (x1 > x0 ? (x - x0) / (x1 - x0) : 0.5);
  };
}
