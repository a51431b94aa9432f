/** The picture that several figures share: a curve over a line, data to drag, and bends to drag. */
import { axes, faint, HEAD, path, scales } from "./axes.js";
import { put, svg, text } from "./dom.js";
import { handle } from "./handle.js";

const round = (v) => Math.round(v * 100) / 100;

/**
 * @typedef {{ x: [number, number], y: [number, number] }} Range
 * @param {{ figure: any, label: string, range: () => Range, move?: (i: number, x: number, y: number) => void, moved?: (i: number) => void,
 *   remove?: (i: number) => void, bend?: (i: number, beta: number) => void, bent?: (i: number) => void, name?: (i: number) => string, numbered?: boolean }} how
 *   `move` and `bend` are called while a point or a bend is held, `moved` and `bent` when it is let go; `numbered` bends bear their numbers
 */
export function curve({ figure, label, range, move, moved, remove, bend, bent, name = (i) => `bend ${i + 1}`, numbered = false }) {
  const element = svg("svg", { role: "group", "aria-label": label }), back = svg("g", { "aria-hidden": "true" }), front = svg("g");
  element.append(back, front);
  let view = null, points = [], bends = [], now = { points: [], bends: [] };

  const limited = ([low, high], v) => Math.max(low, Math.min(high, v));
  function pointHandle(i) {
    const go = (x, y) => move(i, round(limited(range().x, x)), round(limited(range().y, y)));
    return handle({
      label: `point ${i + 1}`, kind: "square", color: "ink", size: 5.5,
      drag: (px, py) => go(view.ux(px), view.uy(py)),
      move: (dx, dy, far) => go(now.points[i][0] + dx * (far ? 0.5 : 0.05), now.points[i][1] + dy * (far ? 0.5 : 0.05)),
      release: () => moved?.(i), remove: remove && (() => taken(i)),
    });
  }
  /** Take a point away; the next one gets the focus, so that the keys go on. */
  function taken(i) {
    remove(i);
    const next = Math.min(i, points.length - 1);
    if (next < 0) return;
    points[next].element.focus({ preventScroll: true });
    moved?.(next);
  }
  function bendHandle(i) {
    const go = (x) => bend(i, round(limited(range().x, x)));
    const made = handle({
      label: name(i), color: "orange",
      drag: (px) => go(view.ux(px)), move: (dx, dy, far) => go(limited(range().x, now.bends[i][0]) + (dx || dy) * (far ? 0.5 : 0.05)),
      release: () => bent?.(i),
    });
    if (numbered) made.element.append(number(i));
    return made;
  }
  const many = (list, n, make) => {
    while (list.length > n) list.pop().element.remove();
    while (list.length < n) {
      list.push(make(list.length));
      front.append(list.at(-1).element);
    }
  };

  return {
    element,
    get view() {
      return view;
    },
    /**
     * @param {{ tall: number, lines: { points: number[][], color: string, width?: number, dashes?: string }[], points?: number[][],
     *   bends?: number[][], ticks?: number[], arrows?: [number, number, string][], chosen?: number, dull?: number[], colors?: string[], faint?: number[][][], xName?: string, yName?: string }} what
     *   lines in numbers, and many faint ones; colours of the bends; bends and points are handles, dull bends are grey; ticks are small marks at the foot, arrows
     *   [from, to, colour] stand there, none on another
     */
    draw({ tall: body, lines, points: data = [], bends: corners = [], ticks = [], arrows = [], chosen = -1, dull = [], colors = [], faint: thin = [], xName, yName }) {
      const top = yName ? HEAD : 6, tall = body + top - 6;
      const wide = figure.width, box = { left: 40, top, width: wide - 56, height: body - (xName ? 42 : 28) }, r = range();
      now = { points: data, bends: corners };
      view = scales(box, r);
      put(element, { viewBox: `0 0 ${wide} ${tall}`, height: tall });
      const drawn = lines.filter((l) => l.points.length > 1).map((l) => svg("path", { d: path(view, l.points), fill: "none", stroke: `var(--${l.color})`, "stroke-width": l.width ?? 2.5, "stroke-dasharray": l.dashes, "stroke-linejoin": "round" }));
      const inside = svg("svg", { x: box.left, y: box.top, width: box.width, height: box.height, overflow: "hidden" }, svg("g", { transform: `translate(${-box.left} ${-box.top})` }, ...(thin.length ? [faint(view, thin)] : []), ...drawn));
      const foot = box.top + box.height, small = ticks.map((t) => `M${view.x(t).toFixed(1)} ${foot}v-9`).join("");
      const row = rows(arrows.map(([from, to]) => [view.x(from), view.x(to)]));
      back.replaceChildren(axes(view, { xName, yName }), inside, svg("path", { d: small || "M0 0", stroke: "var(--orange)", "stroke-width": 1.5, fill: "none" }),
        ...arrows.map(([from, to, color], k) => svg("path", { class: "arrow", d: arrow(view.x(from), view.x(to), foot - 6 - 10 * row[k]), stroke: `var(--${color})`, "stroke-width": 2, fill: "none" })));
      many(points, move ? data.length : 0, pointHandle);
      if (!move) back.append(...data.map((p) => svg("path", { d: "M-5 -5H5V5H-5Z", transform: `translate(${view.x(p[0])} ${view.y(p[1])})`, fill: "var(--ink)", stroke: "var(--paper)" })));
      else data.forEach((p, i) => points[i].at(view.x(p[0]), view.y(p[1]), p[0], `at ${text(p[0])}, ${text(p[1])}`));
      many(bends, corners.length, bendHandle);
      corners.forEach(([x, y], i) => {
        const off = x < r.x[0] || x > r.x[1], at = limited(r.x, x);
        if (numbered) put(bends[i].element.lastChild, { x: off ? (x > at ? -3 : 3) : 0 }); // in the middle of a triangle
        bends[i].dress({ kind: off ? (x > at ? "right" : "left") : "dot", color: (chosen < 0 || i === chosen) && !dull.includes(i) ? colors[i] ?? "orange" : "soft", size: numbered ? (off ? 10 : 8) : dull.includes(i) ? 5 : 7 });
        bends[i].at(view.x(at), view.y(limited(r.y, y)), at, `at ${text(x)}${off ? ", off the page" : ""}${dull.includes(i) ? ", on at no data point" : ""}${i === chosen ? ", chosen" : ""}`);
      });
    },
  };
}

/** The middle of the widest gap between places, the ends of the line among them: where one more point finds room. */
export function widest(places, low, high) {
  const all = [low, ...places, high].sort((a, b) => a - b), gaps = all.slice(1).map((x, i) => x - all[i]), k = gaps.indexOf(Math.max(...gaps));
  return round((all[k] + all[k + 1]) / 2);
}

/** The number of the i-th bend, to stand in its mark. @param {number} i @param {Record<string, any>} [at] */
export const number = (i, at = {}) => svg("text", { class: "number", y: 3.5, "aria-hidden": "true", ...at }, String(i + 1));

/** In which row each stretch stands, so that no two in a row come closer than a gap. @param {number[][]} stretches ends in pixels, in any order */
export function rows(stretches, gap = 4) {
  const full = [], row = [];
  stretches.map(([a, b], k) => [Math.min(a, b), Math.max(a, b), k]).sort((p, q) => p[0] - q[0]).forEach(([low, high, k]) => {
    const free = full.findIndex((end) => end + gap <= low);
    row[k] = free < 0 ? full.length : free;
    full[row[k]] = high;
  });
  return row;
}

/** A flat arrow from one place to another; too short for a head, it is a stroke. */
function arrow(from, to, y) {
  const head = Math.sign(to - from) * Math.min(6, Math.abs(to - from)), way = `M${from.toFixed(1)} ${y}H${to.toFixed(1)}`;
  return Math.abs(to - from) < 2 ? "M0 0" : `${way}l${(-head).toFixed(1)} -4m0 8l${head.toFixed(1)} -4`;
}
