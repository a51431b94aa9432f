/** The perceptron in the plane: samples [x, y, class] with class 1 or -1, weights [a, b, c] of the line a x + b y + c = 0. */

/** @typedef {number[]} Sample @typedef {[number, number, number]} Weights */

/** a x + b y + c. @param {Weights} w @param {Sample} p */
export const height = (w, [x, y]) => w[0] * x + w[1] * y + w[2];

/** Whether the weights put a sample into its class; a sum of exactly 0 is class 1. @param {Weights} w @param {Sample} p */
export const isRight = (w, p) => (height(w, p) >= 0 ? 1 : -1) === p[2];

/** The weights after a sample that was wrong: it is added, times its class. @param {Weights} w @param {Sample} p @returns {Weights} */
export const corrected = (w, [x, y, t]) => [w[0] + t * x, w[1] + t * y, w[2] + t];

/**
 * From weights 0, sample after sample, until so many mistakes were made or a pass had none.
 * @param {Sample[]} samples @param {number} mistakes
 */
export function learn(samples, mistakes) {
  /** @type {Weights} */
  let w = [0, 0, 0];
  const history = [w], wrong = [];
  for (let at = 0, quiet = 0; samples.length && quiet < samples.length && wrong.length < mistakes; at = (at + 1) % samples.length) {
    quiet++;
    if (isRight(w, samples[at])) continue;
    w = corrected(w, samples[at]);
    history.push(w);
    wrong.push(at);
    quiet = 0;
  }
  return { history, wrong };
}

/**
 * The unit weights of the widest margin and that margin, the least t (a x + b y + c); null where no line separates. The shortest
 * weights with t (a x + b y + c) >= 1 touch at most three samples, and all sets of three are tried.
 * @param {Sample[]} samples @returns {{ weights: Weights, margin: number } | null}
 */
export function widest(samples) {
  const rows = samples.map(([x, y, t]) => /** @type {Weights} */ ([t * x, t * y, t])), n = rows.length;
  /** @type {Weights | null} */
  let best = null;
  const consider = (/** @type {Weights[]} */ touched) => {
    const w = shortest(touched);
    if (!w || (best && dot(w, w) >= dot(best, best)) || rows.some((row) => dot(row, w) < 1 - 1e-9)) return;
    best = w;
  };
  for (let i = 0; i < n; i++) {
    consider([rows[i]]);
    for (let j = i + 1; j < n; j++) {
      consider([rows[i], rows[j]]);
      for (let k = j + 1; k < n; k++) consider([rows[i], rows[j], rows[k]]);
    }
  }
  if (!best) return null;
  const length = Math.sqrt(dot(best, best));
  return { weights: /** @type {Weights} */ (/** @type {number[]} */ (best).map((v) => v / length)), margin: 1 / length };
}

/** The bound on the mistakes, (R / margin)², infinite where no line separates. @param {Sample[]} samples */
export function mostMistakes(samples) {
  const found = widest(samples), far = Math.max(0, ...samples.map(([x, y]) => x * x + y * y + 1));
  return found ? far / found.margin ** 2 : Infinity;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** The shortest vector that has the product 1 with each of up to three rows; null if they depend on each other. @param {Weights[]} rows @returns {Weights | null} */
function shortest(rows) {
  const table = rows.map((row) => [...rows.map((other) => dot(row, other)), 1]), n = rows.length;
  for (let i = 0; i < n; i++) {
    let top = i;
    for (let k = i + 1; k < n; k++) if (Math.abs(table[k][i]) > Math.abs(table[top][i])) top = k;
    if (Math.abs(table[top][i]) < 1e-12) return null;
    [table[i], table[top]] = [table[top], table[i]];
    for (let k = 0; k < n; k++) {
      if (k === i) continue;
      const times = table[k][i] / table[i][i];
      for (let m = i; m <= n; m++) table[k][m] -= times * table[i][m];
    }
  }
  return /** @type {Weights} */ ([0, 1, 2].map((c) => rows.reduce((sum, row, i) => sum + (row[c] * table[i][n]) / table[i][i], 0)));
}
