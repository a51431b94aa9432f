/** One race on the sine: a network that grows while it learns, step by step as `experiments/race.py` does it. */
import { fold, mistakes } from "./fold.js";
import { network, outputs, parts, widen } from "./net.js";

/** @typedef {import("./net.js").Net} Net @typedef {import("./random.js").Random} Random */

const BETAS = [0.9, 0.999], EPSILON = 1e-8, NOISE = 1e-3, CHANGE = 0.1;

/** Points of the square, flat, and their labels: 1 above one period of a sine. @param {number} n @param {Random} random */
export function sine(n, random) {
  const x = Float64Array.from({ length: 2 * n }, () => random.uniform(-1, 1));
  return { x, y: Float64Array.from({ length: n }, (_, p) => +(1.5 * x[2 * p + 1] > Math.sin(Math.PI * x[2 * p]))) };
}

/** A neuron's weights and bias as torch draws them for two inputs. @param {Random} random */
const drawn = (random) => [0, 1, 2].map(() => random.uniform(-Math.SQRT1_2, Math.SQRT1_2));

/** A shallow network as torch starts it. @param {number} width @param {Random} random */
export function begin(width, random) {
  const rows = Array.from({ length: width }, () => drawn(random)), reach = width ** -0.5;
  const out = () => random.uniform(-reach, reach);
  return network([rows.map((r) => r.slice(0, 2)), [rows.map(out)]], [rows.map((r) => r[2]), [out()]]);
}

/** The share of points that a network gets right. @param {Net} net @param {{ x: Float64Array, y: Float64Array }} data */
export const right = (net, { x, y }) => 1 - mistakes(net, x, y).length / y.length;

/** The network with one more neuron. @type {Record<string, (net: Net, data: { x: Float64Array, y: Float64Array }, random: Random) => Net>} */
export const METHODS = {
  random: (net, _, random) => {
    const [a, b, c] = drawn(random);
    return widen(net, 0, [a, b], c, [0]);
  },
  fold: (net, { x, y }) => {
    const f = outputs(net, x), wrong = mistakes(net, x, y), among = wrong.length ? wrong : [...y.keys()];
    const loss = (/** @type {number} */ p) => (y[p] > 0.5 ? -f[p] : f[p]);
    const found = fold(net, x, y, among.reduce((best, p) => (loss(p) > loss(best) ? p : best)), CHANGE);
    return widen(net, 0, found.incoming, found.bias, [found.outgoing]);
  },
  split: (net, _, random) => {
    const { weights, biases } = parts(net), j = random.bits() % net.sizes[1], row = [...weights[0][j], biases[0][j]];
    const apart = row.map(() => random.normal()), scale = (NOISE * Math.hypot(...row)) / Math.hypot(...apart);
    const [one, two] = [1, -1].map((sign) => row.map((v, k) => v + sign * scale * apart[k])), half = weights[1][0][j] / 2;
    weights[0][j] = one.slice(0, 2);
    biases[0][j] = one[2];
    weights[1][0][j] = half;
    return widen(network(weights, biases, net.leak), 0, two.slice(0, 2), two[2], [half]);
  },
};

/**
 * The slope of the mean cross-entropy by the parameters: what `gradient` in train.js gives, twenty times as fast for two inputs.
 * @param {Net} net @param {{ x: Float64Array, y: Float64Array }} data
 */
export function slopes({ sizes: [, w], theta }, { x, y }) {
  const slope = new Float64Array(theta.length), z = new Float64Array(w), n = y.length, end = 4 * w;
  for (let p = 0; p < n; p++) {
    const x0 = x[2 * p], x1 = x[2 * p + 1];
    let f = theta[end];
    for (let j = 0; j < w; j++) {
      z[j] = theta[2 * w + j] + (theta[2 * j] * x0 + theta[2 * j + 1] * x1);
      if (z[j] > 0) f += theta[3 * w + j] * z[j];
    }
    const d = (1 / (1 + Math.exp(-f)) - y[p]) / n;
    slope[end] += d;
    for (let j = 0; j < w; j++) {
      if (!(z[j] > 0)) continue;
      const back = d * theta[3 * w + j];
      slope[3 * w + j] += d * z[j];
      slope[2 * w + j] += back;
      slope[2 * j] += back * x0;
      slope[2 * j + 1] += back * x1;
    }
  }
  return slope;
}

/** Adam on all points. A parameter that is new has no memory, and counts its own steps. */
export class Runner {
  /** @param {Net} net @param {{ x: Float64Array, y: Float64Array }} data @param {number} rate */
  constructor(net, data, rate) {
    this.net = net;
    this.data = data;
    this.rate = rate;
    this.first = new Float64Array(net.theta.length);
    this.second = new Float64Array(net.theta.length);
    this.age = new Float64Array(net.theta.length);
  }

  /** Go on with a network that has one more neuron, the last one. @param {Net} net */
  become(net) {
    const w = this.net.sizes[1], room = (/** @type {Float64Array} */ a) => Float64Array.from([...a.slice(0, 2 * w), 0, 0, ...a.slice(2 * w, 3 * w), 0, ...a.slice(3 * w, 4 * w), 0, a[4 * w]]);
    [this.first, this.second, this.age] = [room(this.first), room(this.second), room(this.age)];
    this.net = net;
  }

  step() {
    const slope = slopes(this.net, this.data), { theta } = this.net;
    for (let k = 0; k < theta.length; k++) {
      const age = ++this.age[k];
      this.first[k] += (1 - BETAS[0]) * (slope[k] - this.first[k]);
      this.second[k] = BETAS[1] * this.second[k] + (1 - BETAS[1]) * slope[k] ** 2;
      const root = Math.sqrt(this.second[k] / (1 - BETAS[1] ** age));
      theta[k] -= (this.rate * this.first[k]) / (1 - BETAS[0] ** age) / (root + EPSILON);
    }
  }
}
