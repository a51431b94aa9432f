/** Scales and axes: a square of numbers on a rectangle of pixels. */
import { svg, text } from "./dom.js";

/** Round numbers between low and high, about `wanted` of them. */
export function ticks(low, high, wanted = 5) {
  const rough = (high - low) / wanted, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough * 0.999), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return { at: found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/**
 * @typedef {{ left: number, top: number, width: number, height: number }} Box in pixels
 * @typedef {{ x: [number, number], y: [number, number] }} Range
 * @typedef {ReturnType<typeof scales>} View
 */

/** @param {Box} box @param {Range} range */
export function scales(box, { x: [x0, x1], y: [y0, y1] }) {
  return {
    box,
    x: (v) => box.left + ((v - x0) / (x1 - x0)) * box.width,
    y: (v) => box.top + ((y1 - v) / (y1 - y0)) * box.height,
    ux: (px) => x0 + ((px - box.left) / box.width) * (x1 - x0),
    uy: (px) => y1 - ((px - box.top) / box.height) * (y1 - y0),
    range: { x: [x0, x1], y: [y0, y1] },
  };
}

/** Room above a picture for the name of its vertical axis: nothing that is drawn or dragged comes there. */
export const HEAD = 22;

/**
 * Grid, tick labels and names of the axes as one group; with a `yName` the box begins at `HEAD`.
 * @param {ReturnType<typeof scales>} s @param {{ xName?: string, yName?: string, xTicks?: boolean, yTicks?: boolean, grid?: boolean }} [how]
 */
export function axes(s, { xName, yName, xTicks = true, yTicks = true, grid = true } = {}) {
  const { box, range } = s, group = svg("g", { "aria-hidden": "true" });
  const right = box.left + box.width, bottom = box.top + box.height;
  const line = (x1, y1, x2, y2, stroke) => svg("line", { x1, y1, x2, y2, stroke: `var(--${stroke})`, "stroke-width": 1 });
  const label = (x, y, words, anchor) => svg("text", { x, y, "text-anchor": anchor, class: "soft" }, words);
  if (xTicks) {
    const { at, digits } = ticks(...range.x, box.width < 160 ? 2 : box.width < 300 ? 4 : 8);
    for (const v of at) {
      if (grid) group.append(line(s.x(v), box.top, s.x(v), bottom, "grid"));
      group.append(label(s.x(v), bottom + 16, text(v, digits), "middle"));
    }
  }
  if (yTicks) {
    const { at, digits } = ticks(...range.y, box.height < 100 ? 2 : box.height < 150 ? 3 : 5);
    for (const v of at) {
      if (grid) group.append(line(box.left, s.y(v), right, s.y(v), "grid"));
      group.append(label(box.left - 6, s.y(v) + 4, brief(v, digits), "end"));
    }
  }
  group.append(line(box.left, bottom, right, bottom, "line"));
  if (xName) group.append(label(right, bottom + 31, xName, "end"));
  if (yName) group.append(label(box.left, box.top - 7, yName, "start"));
  return group;
}

/** A tick's label that fits beside the picture: 20k, 3.0e+7. */
const brief = (v, digits) => (Math.abs(v) >= 1e6 || Math.abs(v) < 1e4 ? text(v, digits) : `${text(v / 1000, 0)}k`);

/** Many thin lines as one: what each neuron adds. @param {ReturnType<typeof scales>} s @param {number[][][]} lines */
export const faint = (s, lines) => svg("path", { class: "own", d: lines.map((points) => path(s, points)).join("") || "M0 0", fill: "none", stroke: "var(--soft)", "stroke-width": 1.2, "stroke-dasharray": "5 3", opacity: lines.length > 20 ? 0.3 : 0.6 });

/** A path through points given in numbers. @param {ReturnType<typeof scales>} s @param {ArrayLike<number>[]} points */
export const path = (s, points) => "M" + points.map((p) => `${s.x(p[0]).toFixed(2)} ${s.y(p[1]).toFixed(2)}`).join("L");
