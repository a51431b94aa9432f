/** One network told in the words of another: their affine maps, row by row, and the matrix that translates them best. */

const RIDGE = 1e-9; // of the trace, as in foldnet.geometry.comparison

/** Slope and constant of a curve at each place. @param {{ knots: number[], slopes: number[], intercepts: number[] }} pieces @param {number[]} x */
export const rows = ({ knots, slopes, intercepts }, x) => x.map((t) => {
  const k = knots.filter((knot) => knot < t).length;
  return [slopes[k], intercepts[k]];
});

/** The matrix M that brings the rows of one network nearest to those of another. @param {number[][]} source @param {number[][]} target */
export function dictionary(source, target) {
  const dot = (/** @type {number[][]} */ a, /** @type {number[][]} */ b) => [0, 1].map((i) => [0, 1].map((k) => a.reduce((sum, row, p) => sum + row[i] * b[p][k], 0)));
  const [[a, b], [c, d]] = dot(source, source), wanted = dot(source, target), extra = RIDGE * (a + d);
  // two unknowns a column; the determinant is summed so that nothing cancels where all rows are one row
  const pairs = spread(source), det = pairs + extra * (a + d + extra);
  return [0, 1].map((i) => [0, 1].map((k) => (i ? (a + extra) * wanted[1][k] - c * wanted[0][k] : (d + extra) * wanted[0][k] - b * wanted[1][k]) / det));
}

/** a d - b c of the sums of products, as a sum of squares: that of all 2 x 2 determinants of rows. @param {number[][]} r */
function spread(r) {
  let sum = 0;
  for (let p = 0; p < r.length; p++) for (let q = 0; q < p; q++) sum += (r[p][0] * r[q][1] - r[p][1] * r[q][0]) ** 2;
  return sum;
}

/** Rows times the matrix. @param {number[][]} source @param {number[][]} m */
export const translated = (source, m) => source.map((row) => [0, 1].map((k) => row[0] * m[0][k] + row[1] * m[1][k]));
