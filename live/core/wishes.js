/** The neurons that a network lacks, by least squares: what images ask for, and what of it one map of their pixels can grant. */
import { solve } from "./distances.js";

/**
 * What every image asks of ten outputs that know nothing yet: more of its own class, less of the others.
 * @param {number[]} labels @returns {number[][]}
 */
export const wishes = (labels) => labels.map((k) => Array.from({ length: 10 }, (_, i) => +(i === k) - 0.1));

/**
 * The best neurons in order, as `optimal_neurons(..., moment=SecondMoment.with_ridge(x, ridge), old="kept")` has them: what each reads
 * (pixels and a constant) and what it says, its sign aside; and the map that all of them make together.
 * @param {number[][]} images @param {number[][]} asked @param {number} ridge share of the mean square of a pixel
 */
export function neurons(images, asked, ridge) {
  const n = images.length, rows = images.map((x) => [...x, 1]), size = rows[0].length, out = asked[0].length;
  const s = Array.from({ length: size }, () => new Array(size + out).fill(0));
  rows.forEach((x, p) => x.forEach((a, i) => {
    if (!a) return;
    for (let j = 0; j < size; j++) s[i][j] += (a * x[j]) / n;
    for (let k = 0; k < out; k++) s[i][size + k] += (a * asked[p][k]) / n;
  }));
  const extra = (ridge * s.slice(0, -1).reduce((sum, row, i) => sum + row[i], 0)) / (size - 1), wanted = s.map((row) => row.slice(size));
  s.forEach((row, i) => {
    row[i] += extra;
  });
  const map = transposed(wanted[0].map((_, k) => solve(s.map((row) => [...row.slice(0, size), row[size + k]]))));
  // N' S^-1 N: its eigenvectors are what the neurons say, its eigenvalues the squared singular values
  const { values, vectors } = symmetric(wanted[0].map((_, i) => wanted[0].map((__, k) => wanted.reduce((sum, row, r) => sum + row[i] * map[r][k], 0))));
  const found = values.map((value, k) => ({ value: Math.sqrt(Math.max(0, value)), says: vectors[k], reads: map.map((row) => row.reduce((sum, a, i) => sum + a * vectors[k][i], 0)) }));
  return { map, found };
}

/** The share of what images ask for that a map grants them; below zero it does harm. @param {number[][]} map @param {number[][]} images @param {number[][]} asked */
export function granted(map, images, asked) {
  let left = 0, all = 0;
  images.forEach((x, p) => asked[p].forEach((v, k) => {
    let f = map[x.length][k];
    x.forEach((a, i) => {
      f += a * map[i][k];
    });
    left += (v - f) ** 2;
    all += v ** 2;
  }));
  return 1 - left / all;
}

const transposed = (/** @type {number[][]} */ m) => m[0].map((_, k) => m.map((row) => row[k]));

/** Eigenvalues, largest first, and eigenvectors of a symmetric matrix, by Jacobi's turns. @param {number[][]} matrix */
export function symmetric(matrix) {
  const n = matrix.length, a = matrix.map((row) => [...row]), v = a.map((_, i) => a.map((__, k) => +(i === k)));
  for (let sweep = 0; sweep < 30; sweep++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (Math.abs(a[p][q]) < 1e-300) continue;
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]), t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(theta, 1)), c = 1 / Math.hypot(t, 1), s = t * c;
        for (let k = 0; k < n; k++) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
        for (let k = 0; k < n; k++) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
        for (let k = 0; k < n; k++) [v[k][p], v[k][q]] = [c * v[k][p] - s * v[k][q], s * v[k][p] + c * v[k][q]];
      }
    }
  }
  const order = a.map((_, i) => i).sort((i, k) => a[k][k] - a[i][i]);
  return { values: order.map((i) => a[i][i]), vectors: order.map((i) => v.map((row) => row[i])) };
}
