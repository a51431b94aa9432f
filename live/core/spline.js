/** Networks of one variable as splines: their pieces, their breakpoints at random, the loss along one, and the smallest fit. */

/**
 * One neuron as a hinge: it bends the line at `beta` by `mu` and is switched on to the right (`side` 1) or to the left (-1).
 * @typedef {{ beta: number, mu: number, side: number }} Hinge
 */

/**
 * The hinges of a 1-H-1 network and its offset: f(x) = offset + sum mu * relu(side * (x - beta)). A neuron with w = 0 stands at
 * infinity with mu 0, and what it adds is part of the offset.
 * @param {ArrayLike<number>} w @param {ArrayLike<number>} b @param {ArrayLike<number>} v
 */
export function spline(w, b, v, offset = 0) {
  const hinges = [];
  for (let i = 0; i < w.length; i++) {
    const flat = w[i] === 0;
    if (flat) offset += v[i] * Math.max(b[i], 0);
    hinges.push({ beta: flat ? Infinity : -b[i] / w[i] + 0, mu: v[i] * Math.abs(w[i]), side: w[i] < 0 ? -1 : 1 });
  }
  return { hinges, offset };
}

/** @param {{ hinges: Hinge[], offset: number }} f @param {number} x */
export function value({ hinges, offset }, x) {
  let sum = offset;
  for (const { beta, mu, side } of hinges) if (side * (x - beta) > 0) sum += mu * side * (x - beta);
  return sum;
}

/**
 * The linear pieces from left to right: slopes[p] * x + intercepts[p] between the sorted knots. Hinges at one place make one knot;
 * where their jumps cancel there is none.
 * @param {{ hinges: Hinge[], offset: number }} f
 */
export function pieces({ hinges, offset }) {
  const here = hinges.filter((h) => Number.isFinite(h.beta)).sort((a, b) => a.beta - b.beta);
  let slope = 0, intercept = offset;
  for (const { beta, mu, side } of here) {
    if (side < 0) {
      slope -= mu;
      intercept += mu * beta;
    }
  }
  const knots = [], slopes = [slope], intercepts = [intercept];
  for (let i = 0; i < here.length; ) {
    const beta = here[i].beta;
    let jump = 0, size = 0;
    for (; i < here.length && here[i].beta === beta; i++) {
      jump += here[i].mu;
      size += Math.abs(here[i].mu);
    }
    if (Math.abs(jump) <= 1e-14 * size) continue;
    knots.push(beta);
    slopes.push((slope += jump));
    intercepts.push((intercept -= jump * beta));
  }
  return { knots, slopes, intercepts };
}

/**
 * The curve between -reach and reach as a chain of points, one at each bend in view.
 * @param {{ hinges: Hinge[], offset: number }} f @param {number} reach
 */
export function chain(f, reach) {
  return [-reach, ...pieces(f).knots.filter((x) => Math.abs(x) < reach), reach].map((x) => [x, value(f, x)]);
}

/**
 * The corners that are seen between -reach and reach: bends closer than `near` are one, and what it bends by is the sum of theirs.
 * @param {{ hinges: Hinge[], offset: number }} f @param {number} reach
 */
export function corners({ hinges }, reach, near = 0.02 * 2 * reach) {
  const here = hinges.filter((h) => Math.abs(h.beta) < reach && h.mu !== 0).sort((a, b) => a.beta - b.beta);
  /** @type {number[]} */
  const sums = [];
  here.forEach((h, i) => {
    if (i && h.beta - here[i - 1].beta < near) sums[sums.length - 1] += h.mu;
    else sums.push(h.mu);
  });
  return sums;
}

/**
 * What each neuron adds, between -reach and reach: a level line up to its bend, then a straight one. Those that add nothing are left out.
 * @param {{ hinges: Hinge[] }} f @param {number} reach
 */
export function own({ hinges }, reach) {
  return hinges.filter((h) => h.mu !== 0 && Number.isFinite(h.beta) && h.side * (h.side * reach - h.beta) > 0).map(({ beta, mu, side }) => {
    const end = side * reach, from = Math.max(-reach, Math.min(reach, beta));
    return [[-end, mu * Math.max(0, side * (-end - beta))], [from, mu * Math.max(0, side * (from - beta))], [end, mu * side * (end - beta)]];
  });
}

/** @typedef {"normal" | "uniform" | "even"} Law normal or uniform weights and biases; breakpoints spread evenly over [-reach, reach] */

/** How far breakpoints are spread under the law "even". */
export const REACH = 4;

/**
 * The density of a breakpoint at x, where `ratio` is the scale of the biases over that of the weights.
 * @param {Law} law @param {number} x @param {number} ratio
 */
export function density(law, x, ratio) {
  if (law === "even") return Math.abs(x) <= REACH ? 1 / (2 * REACH) : 0;
  const t = Math.abs(x / ratio);
  return (law === "normal" ? 1 / (Math.PI * (1 + t * t)) : t <= 1 ? 0.25 : 0.25 / (t * t)) / ratio;
}

/** The share of breakpoints in [-r, r]. @param {Law} law @param {number} r @param {number} ratio */
export function share(law, r, ratio) {
  if (law === "even") return Math.min(1, r / REACH);
  const t = r / ratio;
  return law === "normal" ? (2 / Math.PI) * Math.atan(t) : t <= 1 ? t / 2 : 1 - 1 / (2 * t);
}

/**
 * The loss, half the sum of squares, while one breakpoint moves and all else stays: between neighbouring data a parabola
 * curvature / 2 * beta^2 + slope * beta + constant. Data come with increasing x.
 * @param {{ hinges: Hinge[], offset: number }} f @param {number} neuron @param {number[]} x @param {number[]} y
 */
export function slice(f, neuron, x, y) {
  const { mu, side } = f.hinges[neuron], others = { ...f, hinges: f.hinges.filter((_, i) => i !== neuron) };
  const rest = x.map((t, p) => y[p] - value(others, t)), line = rest.map((r, p) => r - mu * side * x[p]);
  return Array.from({ length: x.length + 1 }, (_, k) => {
    // a breakpoint in the k-th gap has k points on its left
    const piece = { from: k ? x[k - 1] : -Infinity, to: k < x.length ? x[k] : Infinity, curvature: 0, slope: 0, constant: 0 };
    for (let p = 0; p < x.length; p++) {
      const active = side > 0 ? p >= k : p < k;
      if (active) {
        piece.curvature += mu * mu;
        piece.slope += mu * side * line[p];
      }
      piece.constant += (active ? line[p] : rest[p]) ** 2 / 2;
    }
    return piece;
  });
}

/**
 * The fit with the smallest sum of squared delta-slopes through the data, for neurons at these places: where gradient flow on the
 * delta-slopes from 0 ends. Null where the data cannot be told apart.
 * @param {number[]} x @param {number[]} y @param {number[]} beta @param {number[]} side @returns {number[] | null} the delta-slopes
 */
export function minimumNorm(x, y, beta, side) {
  const phi = x.map((t) => beta.map((b, i) => Math.max(0, side[i] * (t - b))));
  const rows = phi.map((u, p) => [...phi.map((v) => u.reduce((sum, a, i) => sum + a * v[i], 0)), y[p]]);
  const size = Math.max(...rows.map((row, p) => row[p]));
  for (let k = 0; k < rows.length; k++) {
    const best = rows.reduce((top, row, p) => (p >= k && Math.abs(row[k]) > Math.abs(rows[top][k]) ? p : top), k);
    [rows[k], rows[best]] = [rows[best], rows[k]];
    if (Math.abs(rows[k][k]) <= 1e-13 * size) return null;
    for (let p = k + 1; p < rows.length; p++) {
      const factor = rows[p][k] / rows[k][k];
      for (let q = k; q <= rows.length; q++) rows[p][q] -= factor * rows[k][q];
    }
  }
  const a = new Array(rows.length).fill(0);
  for (let k = rows.length - 1; k >= 0; k--) {
    let sum = rows[k][rows.length];
    for (let q = k + 1; q < rows.length; q++) sum -= rows[k][q] * a[q];
    a[k] = sum / rows[k][k];
  }
  return beta.map((_, i) => a.reduce((sum, v, p) => sum + v * phi[p][i], 0));
}
