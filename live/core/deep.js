/** Deep networks of one variable as splines: all breakpoints of all neurons, exactly, layer by layer; and networks that fold the line by design. */
import { layers, network } from "./net.js";

const TINY = 1e-12;

/**
 * @typedef {{ from: number, to: number, rows: Float64Array }} Stretch of the line, and slope and constant there of each neuron of a layer
 * @typedef {Stretch & { sizes: Float64Array }} Sized a stretch with the size of the terms that each number is summed from
 * @typedef {{ place: number, layer: number, neuron: number }} Breakpoint where a neuron switches on or off; layer 0 is the first
 */

/**
 * @param {import("./net.js").Net} net of one input and one output
 * @returns {{ breakpoints: Breakpoint[], knots: number[], slopes: number[], intercepts: number[], above: Stretch[][] }} the pieces of the
 *   network between its sorted knots, and of each layer what its neurons see, before their activation
 */
export function deepSpline(net) {
  /** @type {Stretch[]} */
  let stretches = [{ from: -Infinity, to: Infinity, rows: Float64Array.of(1, 0) }];
  const breakpoints = /** @type {Breakpoint[]} */ ([]), above = /** @type {Sized[][]} */ ([]), stack = layers(net);
  stack.forEach((layer, l) => {
    /** @type {Sized[]} */
    let seen = stretches.map(({ from, to, rows }) => ({ from, to, ...compose(net, layer, rows) }));
    if (l === stack.length - 1) {
      above.push(seen);
      return;
    }
    seen = seen.flatMap((s) => cut(s));
    above.push(seen);
    const on = seen.map((s) => gates(s));
    for (let k = 1; k < seen.length; k++) {
      for (let i = 0; i < layer.out; i++) if (on[k][i] !== on[k - 1][i]) breakpoints.push({ place: seen[k].from, layer: l, neuron: i });
    }
    stretches = seen.map(({ from, to, rows }, k) => ({ from, to, rows: rows.map((v, j) => (on[k][j >> 1] ? v : net.leak * v)) }));
  });
  return { breakpoints, ...joined(/** @type {Sized[]} */ (above.at(-1))), above };
}

/**
 * What a layer's neurons see, and how large the terms are that each is summed from: what is far smaller is rounding.
 * @param {import("./net.js").Net} net @param {import("./net.js").Layer} layer @param {Float64Array} below
 */
function compose(net, { w, b, fan, out }, below) {
  const rows = new Float64Array(2 * out), sizes = new Float64Array(2 * out);
  for (let i = 0; i < out; i++) {
    for (let j = 0; j < fan; j++) {
      for (let k = 0; k < 2; k++) {
        const term = net.theta[w + i * fan + j] * below[2 * j + k];
        rows[2 * i + k] += term;
        sizes[2 * i + k] += Math.abs(term);
      }
    }
    rows[2 * i + 1] += net.theta[b + i];
    sizes[2 * i + 1] += Math.abs(net.theta[b + i]);
  }
  for (let k = 0; k < rows.length; k++) if (Math.abs(rows[k]) <= TINY * sizes[k]) rows[k] = 0;
  return { rows, sizes };
}

/** A stretch, cut at the zeros of its neurons; zeros at one place, up to rounding, are one. @param {Sized} stretch @returns {Sized[]} */
function cut({ from, to, rows, sizes }) {
  const zeros = [];
  for (let i = 0; i < rows.length; i += 2) {
    if (rows[i] !== 0) zeros.push([-rows[i + 1] / rows[i] + 0, (TINY * (sizes[i + 1] + sizes[i] * Math.abs(rows[i + 1] / rows[i]))) / Math.abs(rows[i])]);
  }
  zeros.sort((p, q) => p[0] - q[0]);
  const ends = [from];
  for (const [x, error] of zeros) if (x - /** @type {number} */ (ends.at(-1)) > error && to - x > error) ends.push(x);
  return ends.map((low, k) => ({ from: low, to: ends[k + 1] ?? to, rows, sizes }));
}

/** Which neurons are on inside a stretch. @param {Sized} stretch */
function gates({ from, to, rows, sizes }) {
  const x = inside(from, to), on = [];
  for (let i = 0; i < rows.length; i += 2) on.push(rows[i] * x + rows[i + 1] > TINY * 1e-3 * (sizes[i] * Math.abs(x) + sizes[i + 1]));
  return on;
}

/** @param {number} from @param {number} to */
function inside(from, to) {
  if (from === -Infinity) return to === Infinity ? 0 : to - Math.max(1, Math.abs(to));
  return to === Infinity ? from + Math.max(1, Math.abs(from)) : (from + to) / 2;
}

/** Neighbours with the same slope are one piece. @param {Sized[]} stretches of the output */
function joined(stretches) {
  const knots = [], slopes = [stretches[0].rows[0]], intercepts = [stretches[0].rows[1]];
  let size = stretches[0].sizes[0];
  for (const { from, rows, sizes } of stretches.slice(1)) {
    if (Math.abs(rows[0] - /** @type {number} */ (slopes.at(-1))) <= TINY * (size + sizes[0])) continue;
    knots.push(from);
    slopes.push(rows[0]);
    intercepts.push(rows[1]);
    size = sizes[0];
  }
  return { knots, slopes, intercepts };
}

/**
 * A chain of pieces between low and high as points to draw a line through.
 * @param {{ knots: number[], slopes: number[], intercepts: number[] }} pieces @param {number} low @param {number} high
 */
export function corners({ knots, slopes, intercepts }, low, high) {
  const at = (/** @type {number} */ x) => {
    let k = 0;
    while (k < knots.length && knots[k] < x) k++;
    return [x, slopes[k] * x + intercepts[k]];
  };
  return [low, ...knots.filter((x) => x > low && x < high), high].map(at);
}

// ---- networks built by hand ------------------------------------------------------------------------------------------------

/**
 * One hidden layer through points with increasing x: a node at each but the last, and node i changes nothing left of x_i.
 * @param {number[]} x @param {number[]} y @returns {import("./net.js").Net}
 */
export function interpolate(x, y) {
  const slopes = x.slice(1).map((t, i) => (y[i + 1] - y[i]) / (t - x[i])), heights = slopes.map((s, i) => s - (i ? slopes[i - 1] : 0));
  return network([heights.map(() => [1]), [heights]], [x.slice(0, -1).map((t) => -t), [y[0]]]);
}

/**
 * Triangle waves on [low, high], one layer on top of the other, minus 1/2: a layer of w nodes folds the line into w equal parts, and
 * the numbers of parts multiply. @param {number[]} widths
 */
export function deepWave(widths, low = 0, high = 1) {
  const weights = [], biases = [];
  // what the layer reads: a row of weights and a constant
  let row = [1 / (high - low)], constant = -low / (high - low);
  for (const w of widths) {
    const kinks = Array.from({ length: w }, (_, i) => i / w);
    weights.push(kinks.map(() => [...row]));
    biases.push(kinks.map((t) => constant - t));
    row = kinks.map((_, i) => (i ? 2 * w * (i % 2 ? -1 : 1) : w));
    constant = 0;
  }
  return network([...weights, [row]], [...biases, [constant - 0.5]]);
}

/** The fewest nodes in one hidden layer with which a ReLU network of one input changes sign so often. @param {number} changes */
export const leastWidth = (changes) => (changes > 3 ? changes - 1 : changes);
