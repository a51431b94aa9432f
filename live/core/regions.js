/** The linear pieces of a network of the plane, exactly: convex polygons, split along each neuron's crease in turn. */
import { layers } from "./net.js";

/**
 * @typedef {number[]} Point of two numbers
 * @typedef {{ corners: Point[], on: number[], rows: Float64Array }} Region corners in order; the active hidden neurons, counted
 *   through all layers; the affine map of the outputs on it, three numbers (slope, slope, constant) an output
 */

const TINY = 1e-12;

/** The part of a convex polygon where an affine function, given at its corners, is positive. @param {Point[]} polygon @param {number[]} values */
export function clip(polygon, values) {
  /** @type {Point[]} */
  const kept = [];
  polygon.forEach((p, i) => {
    const j = (i + 1) % polygon.length, a = values[i], b = values[j], q = polygon[j];
    if (a >= 0) kept.push(p);
    if (a * b < 0) kept.push([p[0] + ((q[0] - p[0]) * a) / (a - b), p[1] + ((q[1] - p[1]) * a) / (a - b)]);
  });
  return kept;
}

/** @param {import("./net.js").Net} net @param {Point[]} frame a convex polygon @returns {Region[]} */
export function regions(net, frame) {
  let all = [{ corners: frame, on: /** @type {number[]} */ ([]), rows: Float64Array.of(1, 0, 0, 0, 1, 0) }], counted = 0;
  const stack = layers(net);
  stack.forEach((layer, l) => {
    const last = l === stack.length - 1;
    all = all.flatMap((region) => {
      const rows = compose(net, layer, region.rows);
      if (last) return [{ ...region, rows }];
      return split(region, rows, layer.out, counted).map(({ corners, on }) => ({ corners, on, rows: gated(rows, on, counted, net.leak) }));
    });
    if (!last) counted += layer.out;
  });
  return all;
}

/**
 * The affine maps of a layer's neurons, where the layer below has these maps.
 * @param {import("./net.js").Net} net @param {import("./net.js").Layer} layer @param {Float64Array} below
 */
function compose(net, { w, b, fan, out }, below) {
  const rows = new Float64Array(3 * out);
  for (let i = 0; i < out; i++) {
    for (let j = 0; j < fan; j++) for (let k = 0; k < 3; k++) rows[3 * i + k] += net.theta[w + i * fan + j] * below[3 * j + k];
    rows[3 * i + 2] += net.theta[b + i];
  }
  return rows;
}

/** One region along the creases of a layer. @param {Region} region @param {Float64Array} rows @param {number} width @param {number} counted */
function split(region, rows, width, counted) {
  let all = [{ corners: region.corners, on: region.on }];
  for (let i = 0; i < width; i++) {
    const [x, y, c] = rows.subarray(3 * i, 3 * i + 3), unit = Math.abs(x) + Math.abs(y) + Math.abs(c);
    const next = [];
    for (const { corners, on } of all) {
      const z = corners.map((p) => x * p[0] + y * p[1] + c);
      const above = z.some((v) => v > TINY * unit), under = z.some((v) => v < -TINY * unit);
      if (above && under) {
        next.push({ corners: clip(corners, z), on: [...on, counted + i] }, { corners: clip(corners, z.map((v) => -v)), on });
      } else next.push({ corners, on: above ? [...on, counted + i] : on });
    }
    all = next;
  }
  return all;
}

/** @param {Float64Array} rows @param {number[]} on @param {number} counted @param {number} leak */
function gated(rows, on, counted, leak) {
  const active = new Set(on), out = rows.slice();
  for (let i = 0; i < rows.length; i++) if (!active.has(counted + Math.floor(i / 3))) out[i] *= leak;
  return out;
}

/** The area of a polygon whose corners go round it. @param {Point[]} polygon */
export function area(polygon) {
  let twice = 0;
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length];
    twice += p[0] * q[1] - p[1] * q[0];
  });
  return Math.abs(twice) / 2;
}

/** The values of one output of a region's map at the region's corners. @param {Region} region */
export function heights({ corners, rows }, output = 0) {
  return corners.map((p) => rows[3 * output] * p[0] + rows[3 * output + 1] * p[1] + rows[3 * output + 2]);
}

/** The straight pieces of the line on which an output is 0: one segment a region that it crosses. @param {Region[]} all */
export function boundary(all, output = 0) {
  const found = [];
  for (const region of all) {
    const z = heights(region, output), ends = /** @type {Point[]} */ ([]);
    region.corners.forEach((p, i) => {
      const j = (i + 1) % z.length, q = region.corners[j];
      if (z[i] >= 0 !== z[j] >= 0) ends.push([p[0] + ((q[0] - p[0]) * z[i]) / (z[i] - z[j]), p[1] + ((q[1] - p[1]) * z[i]) / (z[i] - z[j])]);
    });
    if (ends.length === 2) found.push(ends);
  }
  return found;
}
