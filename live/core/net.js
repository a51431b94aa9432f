/**
 * A fully connected (leaky) ReLU network as a value, in the layout of `foldnet.ReLUNet.vector()`: weights row by row, then biases,
 * layer by layer. Points are flat too: n points of a network with `in` inputs are a Float64Array of n * in numbers.
 *
 * @typedef {{ sizes: number[], theta: Float64Array, leak: number }} Net
 * @typedef {{ w: number, b: number, fan: number, out: number }} Layer where its weights and biases start in theta
 */

/** @param {number[][][]} weights @param {number[][]} biases @returns {Net} */
export function network(weights, biases, leak = 0) {
  const sizes = [weights[0][0].length, ...biases.map((b) => b.length)];
  const theta = weights.flatMap((w, l) => [...w.flat(), ...biases[l]]);
  return { sizes, theta: Float64Array.from(theta), leak };
}

/** @param {Net} net @returns {{ weights: number[][][], biases: number[][] }} */
export function parts(net) {
  const weights = [], biases = [];
  for (const { w, b, fan, out } of layers(net)) {
    weights.push(Array.from({ length: out }, (_, i) => [...net.theta.subarray(w + i * fan, w + (i + 1) * fan)]));
    biases.push([...net.theta.subarray(b, b + out)]);
  }
  return { weights, biases };
}

/** @param {{ sizes: number[] }} net @returns {Layer[]} */
export function layers({ sizes }) {
  let start = 0;
  return sizes.slice(1).map((out, l) => {
    const fan = sizes[l], w = start, b = start + fan * out;
    start = b + out;
    return { w, b, fan, out };
  });
}

/**
 * What every layer computes before its activation, the outputs last: for each layer n * width numbers.
 * @param {Net} net @param {ArrayLike<number>} x @returns {Float64Array[]}
 */
export function preactivations(net, x) {
  const n = x.length / net.sizes[0], all = [];
  /** @type {ArrayLike<number>} */
  let below = x;
  for (const { w, b, fan, out } of layers(net)) {
    const z = new Float64Array(n * out), gated = all.length > 0;
    for (let p = 0; p < n; p++) {
      for (let i = 0; i < out; i++) {
        let sum = net.theta[b + i];
        for (let j = 0; j < fan; j++) {
          const a = below[p * fan + j];
          sum += net.theta[w + i * fan + j] * (gated && a < 0 ? net.leak * a : a);
        }
        z[p * out + i] = sum;
      }
    }
    all.push(z);
    below = z;
  }
  return all;
}

/** Outputs, n * out numbers. @param {Net} net @param {ArrayLike<number>} x */
export function outputs(net, x) {
  return preactivations(net, x)[net.sizes.length - 2];
}

/** Which hidden neurons are active (z > 0) at one point, layer after layer. @param {Net} net @param {number[]} point */
export function pattern(net, point) {
  return preactivations(net, point).slice(0, -1).flatMap((z) => [...z].map((v) => v > 0));
}

/**
 * The affine map of the linear piece that a point lies in, rows (slopes..., constant); on a crease, the piece where z <= 0.
 * @param {Net} net @param {number[]} point @returns {number[][]}
 */
export function affine(net, point) {
  const fan = net.sizes[0], values = preactivations(net, point);
  let rows = point.map((_, j) => [...point.map((__, k) => +(j === k)), 0]);
  layers(net).forEach((layer, l) => {
    const { weights, biases } = rowsOf(net, layer);
    const inner = rows;
    rows = weights.map((w, i) => {
      const row = new Array(fan + 1).fill(0);
      w.forEach((a, j) => {
        const gate = l === 0 || values[l - 1][j] > 0 ? 1 : net.leak;
        for (let k = 0; k <= fan; k++) row[k] += a * gate * inner[j][k];
      });
      row[fan] += biases[i];
      return row;
    });
  });
  return rows;
}

/** @param {Net} net @param {Layer} layer */
function rowsOf(net, { w, b, fan, out }) {
  const weights = Array.from({ length: out }, (_, i) => net.theta.subarray(w + i * fan, w + (i + 1) * fan));
  return { weights, biases: net.theta.subarray(b, b + out) };
}

/**
 * The network with one more neuron in a hidden layer (0 is the first).
 * @param {Net} net @param {number} layer @param {number[]} incoming @param {number} bias @param {number[]} outgoing
 */
export function widen(net, layer, incoming, bias, outgoing) {
  const { weights, biases } = parts(net);
  weights[layer].push(incoming);
  biases[layer].push(bias);
  weights[layer + 1].forEach((row, i) => row.push(outgoing[i]));
  return network(weights, biases, net.leak);
}
