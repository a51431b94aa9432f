/**
 * A sheet [-1, 1]^2 folded along straight creases, one after the other, and what a network has to do with it: a fold is
 * |u| = relu(u) + relu(-u), where u is the distance from the crease. With the weight c in relu(u) + c relu(-u) going from -1 to 1
 * the sheet turns from flat to folded, and what the network computes is its shadow.
 *
 * @typedef {{ normal: [number, number], offset: number }} Line normal . p = offset; a crease folds the side below it over to the other
 * @typedef {{ corners: number[][], map: number[], layer: number, turned: number, moving: boolean }} Piece corners on the flat sheet,
 *   and (a, b, c, d, e, f) with the shadow at (ax + by + c, dx + ey + f)
 */
import { network } from "./net.js";
import { clip } from "./regions.js";

const SHEET = [[-1, -1], [1, -1], [1, 1], [-1, 1]];

/** @param {number} angle in degrees, of the normal @param {number} offset @returns {Line} */
export const line = (angle, offset) => ({ normal: [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)], offset });

/** How flat a fold still is: -1 flat, 1 folded. @param {number} folds @param {number} i */
const weight = (folds, i) => -Math.cos(Math.PI * Math.min(1, folds - i));

/** @param {number[]} m a map @param {number[]} p a point */
export const at = (m, [x, y]) => [m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]];

/** The linear pieces after some folds; a fraction is a fold half way. @param {Line[]} creases @param {number} folds @returns {Piece[]} */
export function pieces(creases, folds) {
  let stack = [{ corners: SHEET, map: [1, 0, 0, 0, 1, 0], layer: 0, turned: 0, moving: false }];
  creases.slice(0, Math.ceil(folds)).forEach(({ normal: [a, b], offset }, i) => {
    const top = Math.max(...stack.map((piece) => piece.layer)), c = weight(folds, i);
    stack = stack.flatMap((piece) => {
      const u = piece.corners.map((p) => {
        const [x, y] = at(piece.map, p);
        return a * x + b * y - offset;
      });
      const split = [], rest = part(piece.corners, u), over = part(piece.corners, u.map((v) => -v));
      if (rest.length) split.push({ ...piece, corners: rest, moving: false });
      if (over.length) {
        split.push({ corners: over, map: turned(piece.map, [a, b], offset, c), layer: 2 * top + 1 - piece.layer, turned: piece.turned + 1, moving: i + 1 > folds });
      }
      return split;
    });
  });
  return stack;
}

/** @param {number[][]} corners @param {number[]} u */
function part(corners, u) {
  const kept = Math.max(...u) > 1e-9 ? clip(corners, u) : [];
  return kept.length > 2 ? kept : [];
}

/**
 * A map followed by p -> p + (-c - 1) u n on the side where u < 0, so that the coordinate u becomes -c u.
 * @param {number[]} m @param {number[]} normal @param {number} offset @param {number} c
 */
function turned(m, [a, b], offset, c) {
  const k = -c - 1, u = [0, 1, 2].map((j) => a * m[j] + b * m[3 + j] - (j === 2 ? offset : 0));
  return [0, 1, 2].map((j) => m[j] + k * a * u[j]).concat([0, 1, 2].map((j) => m[3 + j] + k * b * u[j]));
}

/**
 * How high a point of the sheet stands above the plane while a fold is half way.
 * @param {Line[]} creases @param {number} folds @param {Piece} piece @param {number[]} p
 */
export function height(creases, folds, piece, p) {
  const i = Math.ceil(folds) - 1, turning = folds - i;
  if (!piece.moving || i < 0) return 0;
  const { normal, offset } = creases[i], c = weight(folds, i), [x, y] = at(piece.map, p);
  const u = (normal[0] * x + normal[1] * y - offset) / -c;
  // where the half stands upright its shadow says nothing, so the height is taken from the sheet before the fold
  return Math.sin(Math.PI * turning) * (Math.abs(c) > 1e-3 ? Math.max(0, -u) : upright(creases, i, p));
}

/** @param {Line[]} creases @param {number} i @param {number[]} p */
function upright(creases, i, p) {
  const before = pieces(creases, i).find((piece) => inside(piece.corners, p)) ?? pieces(creases, i)[0], [x, y] = at(before.map, p);
  return Math.max(0, creases[i].offset - creases[i].normal[0] * x - creases[i].normal[1] * y);
}

/** @param {number[][]} corners @param {number[]} p */
function inside(corners, [x, y]) {
  return corners.every((p, k) => {
    const q = corners[(k + 1) % corners.length];
    return (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]) >= -1e-9;
  });
}

/** The network that folds and cuts: one hidden layer of four neurons for each fold. @param {Line[]} creases @param {Line} knife */
export function folding(creases, knife, folds = creases.length) {
  const weights = [], biases = [];
  let back = [[1, 0], [0, 1]], shift = [0, 0]; // from the last layer's neurons to the plane
  creases.slice(0, Math.ceil(folds)).forEach(({ normal: [a, b], offset }, i) => {
    const rows = [[a, b], [-a, -b], [-b, a], [b, -a]], c = weight(folds, i);
    weights.push(rows.map((r) => back[0].map((_, j) => r[0] * back[0][j] + r[1] * back[1][j])));
    biases.push(rows.map((r, k) => r[0] * shift[0] + r[1] * shift[1] - offset * [1, -1, 0, 0][k]));
    back = [[a, c * a, -b, b], [b, c * b, a, -a]];
    shift = [offset * a, offset * b];
  });
  const [a, b] = knife.normal;
  weights.push([back[0].map((_, j) => a * back[0][j] + b * back[1][j])]);
  biases.push([a * shift[0] + b * shift[1] - knife.offset]);
  return network(weights, biases);
}
