/** Full-batch training, step by step the same as `foldnet.train.fit` in float64. */
import { layers, preactivations } from "./net.js";

const BETAS = [0.9, 0.999], EPSILON = 1e-8;

/**
 * @typedef {import("./net.js").Net} Net
 * @typedef {"mse" | "half_sum" | "bce" | "cross_entropy"} Loss mean over points and outputs; of a softmax the mean over points;
 *   half the sum of squares
 */

/** @param {Loss} loss @param {Float64Array} f outputs @param {ArrayLike<number>} y targets @param {number} out */
export function meanLoss(loss, f, y, out) {
  let sum = 0;
  if (loss === "cross_entropy") {
    for (let p = 0; p < f.length; p += out) {
      sum += logSumExp(f, p, out);
      for (let i = p; i < p + out; i++) sum -= y[i] * f[i];
    }
    return (sum * out) / f.length;
  }
  for (let i = 0; i < f.length; i++) {
    sum += loss === "mse" || loss === "half_sum" ? (f[i] - y[i]) ** 2 : Math.max(f[i], 0) - f[i] * y[i] + Math.log1p(Math.exp(-Math.abs(f[i])));
  }
  return loss === "half_sum" ? sum / 2 : sum / f.length;
}

/** The derivative of `meanLoss` by the outputs. @param {Loss} loss @param {Float64Array} f @param {ArrayLike<number>} y @param {number} out */
function outputGradient(loss, f, y, out) {
  const delta = new Float64Array(f.length), n = f.length;
  for (let i = 0; i < n; i++) {
    if (loss === "half_sum") delta[i] = f[i] - y[i];
    else if (loss === "mse") delta[i] = (2 * (f[i] - y[i])) / n;
    else if (loss === "bce") delta[i] = (1 / (1 + Math.exp(-f[i])) - y[i]) / n;
    else delta[i] = ((Math.exp(f[i] - logSumExp(f, i - (i % out), out)) - y[i]) * out) / n;
  }
  return delta;
}

/** @param {Float64Array} f @param {number} start @param {number} out */
function logSumExp(f, start, out) {
  let top = -Infinity, sum = 0;
  for (let i = start; i < start + out; i++) top = Math.max(top, f[i]);
  for (let i = start; i < start + out; i++) sum += Math.exp(f[i] - top);
  return top + Math.log(sum);
}

/** Loss and gradient at once. @param {Net} net @param {ArrayLike<number>} x @param {ArrayLike<number>} y @param {Loss} loss */
export function gradient(net, x, y, loss) {
  const stack = layers(net), z = preactivations(net, x), slope = new Float64Array(net.theta.length);
  const n = x.length / net.sizes[0], out = net.sizes[net.sizes.length - 1], f = z[z.length - 1];
  let delta = outputGradient(loss, f, y, out);
  for (let l = stack.length - 1; l >= 0; l--) {
    const { w, b, fan, out: width } = stack[l], below = l ? z[l - 1] : x, next = new Float64Array(n * fan);
    for (let p = 0; p < n; p++) {
      for (let i = 0; i < width; i++) {
        const d = delta[p * width + i];
        slope[b + i] += d;
        for (let j = 0; j < fan; j++) {
          const a = below[p * fan + j], gate = !l || a > 0 ? 1 : net.leak;
          slope[w + i * fan + j] += d * gate * a;
          next[p * fan + j] += d * gate * net.theta[w + i * fan + j];
        }
      }
    }
    delta = next;
  }
  return { loss: meanLoss(loss, f, y, out), slope };
}

/** A training that goes on step by step; it changes `net.theta` in place. Parameters whose `free` is false stay as they are. */
export class Trainer {
  /**
   * @param {Net} net @param {ArrayLike<number>} x @param {ArrayLike<number>} y
   * @param {{ loss?: Loss, optimizer?: "gd" | "adam", rate?: number, free?: boolean[] }} [how]
   */
  constructor(net, x, y, { loss = "mse", optimizer = "adam", rate = 1e-3, free } = {}) {
    Object.assign(this, { net, x, y, kind: loss, optimizer, rate, free, steps: 0 });
    this.first = new Float64Array(net.theta.length);
    this.second = new Float64Array(net.theta.length);
  }

  /** The loss now. */
  loss() {
    const out = this.net.sizes[this.net.sizes.length - 1], z = preactivations(this.net, this.x);
    return meanLoss(this.kind, z[z.length - 1], this.y, out);
  }

  /** One step; the loss before it. A loss that is not finite stops the training. */
  step() {
    const { loss, slope } = gradient(this.net, this.x, this.y, this.kind), { theta } = this.net;
    if (!Number.isFinite(loss)) return loss;
    this.steps += 1;
    const [one, two] = BETAS.map((beta) => 1 - beta ** this.steps), root = Math.sqrt(two);
    for (let k = 0; k < theta.length; k++) {
      if (this.free && !this.free[k]) continue;
      if (this.optimizer === "gd") {
        theta[k] -= this.rate * slope[k];
        continue;
      }
      this.first[k] += (1 - BETAS[0]) * (slope[k] - this.first[k]);
      this.second[k] = BETAS[1] * this.second[k] + (1 - BETAS[1]) * slope[k] ** 2;
      theta[k] -= ((this.rate / one) * this.first[k]) / (Math.sqrt(this.second[k]) / root + EPSILON);
    }
    return loss;
  }
}
