/** Networks built by hand: through any points, neuron by neuron; and parity, layer by layer. */
import { corners, deepSpline, deepWave, interpolate, leastWidth } from "../core/deep.js";
import { outputs } from "../core/net.js";
import { axes, HEAD, path, scales } from "../ui/axes.js";
import { button, menu, slider } from "../ui/controls.js";
import { curve } from "../ui/curve.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { shape } from "../ui/handle.js";

const REACH = 3, MOST = 96, COLORS = ["blue", "orange", "green", "pink", "gold"];
const BUILDS = { points: "by width: through points", waves: "by depth: waves for parity" };
const title = "Build a network by hand, neuron by neuron or layer by layer";

export const defaults = { build: "points", points: [[-2.5, -0.6], [-1.6, 1.1], [-0.5, -0.9], [0.5, 0.8], [1.4, -0.4], [2.5, 1]], nodes: 2, widths: [2, 2], bits: 4 };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  const figure = frame(el, model, {
    name: "capacity", title, defaults, draw, reset, numbers,
    about: "By width, each neuron bends the curve at one point. By depth, each layer folds what the one before has made. "
      + "The marks are numbers of ones among the bits: parity wants the curve above zero at odd ones, below it at even ones.",
    hints: ["[Tab] goes from point to point and to the buttons", "[←] [→] [↑] [↓] move a point", "[Shift] makes large steps", "[Delete] takes it away"],
  });
  const plot = curve({
    figure, label: "The points and the network", range,
    move: (i, x, y) => change({ points: model.get("points").map((p, k) => (k === i ? [x, y] : p)) }),
    moved: () => figure.say(summary()),
    remove: (i) => model.get("points").length > 2 && change({ points: model.get("points").filter((_, k) => k !== i) }),
  });
  const marks = svg("g", { "aria-hidden": "true" }), below = svg("svg", { role: "img" });
  plot.element.append(marks);
  figure.picture.append(plot.element, below);
  const told = (act) => () => {
    act();
    figure.say(summary());
  };
  const build = menu("build", BUILDS, model.get("build"), (kind) => told(() => change({ build: kind }))());
  const bits = slider("bits", Array.from({ length: 16 }, (_, i) => i + 1), model.get("bits"), (n) => change({ bits: n }));
  const more = (w) => () => grown([...model.get("widths"), w]);
  const room = () => nodes() < data().length - 1;
  const limits = [ // a button, and whether it can do anything
    [button("Add a neuron", told(() => node(1)), { class: "main" }), room],
    [button("Take a neuron away", told(() => node(-1))), () => nodes() > 0],
    [button("All neurons", told(() => node(99))), room],
    [button("Add a layer of 2", told(more(2)), { class: "main" }), () => 2 * folds() <= MOST],
    [button("Add a layer of 3", told(more(3))), () => 3 * folds() <= MOST],
    [button("Take a layer away", told(() => grown(model.get("widths").slice(0, -1)))), () => model.get("widths").length > 1],
  ], buttons = limits.map(([one]) => one);
  const rows = {
    points: html("div", { class: "row" }, ...buttons.slice(0, 3), button("Add a point", told(add))),
    waves: html("div", { class: "row" }, ...buttons.slice(3)),
  };
  figure.controls(html("div", {}, rows.points, rows.waves), html("div", { class: "row" }, build.element, bits.element));

  const waving = () => model.get("build") === "waves";
  /** The points in order; of two at one place the first. */
  const data = () => [...model.get("points")].sort((a, b) => a[0] - b[0]).filter((p, k, all) => !k || p[0] > all[k - 1][0]);
  const nodes = () => Math.max(0, Math.min(model.get("nodes"), data().length - 1));
  const folds = (widths = model.get("widths")) => widths.reduce((product, w) => product * w, 1);
  /** @returns {import("../ui/axes.js").Range} */
  function range() {
    return waving() ? { x: [-0.03, Math.max(1, model.get("bits") / folds()) + 0.03], y: [-1, 1] } : { x: [-REACH, REACH], y: [-2, 2] };
  }
  /** The network so far: a constant without a neuron. */
  function net() {
    if (waving()) return deepWave(model.get("widths"));
    const some = data().slice(0, nodes() + 1);
    return some.length > 1 ? interpolate(some.map((p) => p[0]), some.map((p) => p[1])) : null;
  }
  const line = (made) => {
    const [low, high] = range().x;
    return made ? corners(deepSpline(made), low, high) : [[low, data()[0][1]], [high, data()[0][1]]];
  };

  function change(changes) {
    figure.keep(changes);
    draw();
  }
  const node = (step) => change({ nodes: Math.max(0, Math.min(data().length - 1, nodes() + step)) });
  function grown(widths) {
    if (widths.length && folds(widths) <= MOST) change({ widths });
  }
  function add() {
    const all = data(), gaps = [...all.slice(1).map((p, i) => p[0] - all[i][0]), REACH - all.at(-1)[0]], k = gaps.indexOf(Math.max(...gaps));
    const to = all[k + 1]?.[0] ?? REACH;
    change({ points: [...model.get("points"), [Math.round(50 * (all[k][0] + to)) / 100, 0]] });
  }
  function reset() {
    build.set(start.build);
    bits.set(start.bits);
    change(structuredClone(start));
  }

  function draw() {
    bits.element.style.display = waving() ? "" : "none";
    for (const [kind, row] of Object.entries(rows)) row.style.display = kind === model.get("build") ? "" : "none";
    for (const [one, may] of limits) put(one, { disabled: !may() });
    const made = net(), high = Math.max(200, Math.min(280, 0.4 * figure.width));
    const ends = waving() ? [] : data().slice(0, nodes()).map((p) => p[0]);
    plot.draw({ tall: high, points: waving() ? [] : model.get("points"), lines: [{ points: line(made), color: "blue" }], ticks: ends, xName: waving() ? "place of the number of ones" : "x" });
    // @ts-expect-error parity reads no argument; without it the bundles would be others
    marks.replaceChildren(...(waving() ? parity(made) : []));
    if (waving()) layersBelow();
    else nodesBelow(made);
    figure.read(summary());
  }

  /** Where the numbers of ones stand, and whether the network has the right sign there. */
  function corner() {
    const f = deepWave(model.get("widths")), places = Array.from({ length: model.get("bits") + 1 }, (_, k) => k / folds());
    return [...outputs(f, places)].map((z, k) => ({ x: places[k], odd: k % 2, right: z > 0 === k % 2 > 0 && z !== 0 }));
  }
  function parity() {
    const { view } = plot, zero = svg("path", { d: `M${view.box.left} ${view.y(0)}h${view.box.width}`, stroke: "var(--soft)", fill: "none" });
    const last = [-Infinity, -Infinity]; // where the last label of each side stands: one that would touch it is left out
    return [zero, ...corner().flatMap(({ x, odd, right }, k) => {
      const fits = view.x(x) - last[odd] > 9 * String(k).length + 3;
      if (fits) last[odd] = view.x(x);
      const at = `translate(${view.x(x).toFixed(2)} ${view.y(odd ? 0.5 : -0.5).toFixed(2)})`;
      return [
        svg("path", { d: shape(odd ? "square" : "dot", 6), transform: at, fill: `var(--${odd ? "orange" : "blue"})`, stroke: "var(--paper)", "stroke-width": 1.5 }),
        ...(right ? [] : [svg("path", { d: shape("cross", 7), transform: at, stroke: "var(--ink)", "stroke-width": 2.5, fill: "none" })]),
        ...(fits ? [svg("text", { x: view.x(x), y: view.y(odd ? 0.5 : -0.5) + (odd ? -11 : 21), "text-anchor": "middle" }, String(k))] : []),
      ];
    })];
  }

  /** What each neuron adds. */
  function nodesBelow(made) {
    const ends = made ? data().slice(0, nodes()).map(([t], i) => heights(made)[i] * (REACH - t)) : [];
    const wide = figure.width, tall = 164, top = Math.max(4, ...ends.map(Math.abs)), s = scales({ left: 40, top: HEAD, width: wide - 56, height: tall - HEAD - 36 }, { x: [-REACH, REACH], y: [-top, top] }), { box } = s;
    const parts = made ? data().slice(0, nodes()).map(([t], i) => [[-REACH, 0], [t, 0], [REACH, ends[i]]]) : [];
    put(below, { viewBox: `0 0 ${wide} ${tall}`, height: tall, "aria-label": `What each of the ${count(nodes(), "neuron")} adds: flat up to its bend, then a straight line` });
    below.replaceChildren(axes(s, { yName: "what each neuron adds", xName: "x" }),
      svg("svg", { x: box.left, y: box.top, width: box.width, height: box.height, overflow: "hidden" }, svg("g", { transform: `translate(${-box.left} ${-box.top})` },
        ...parts.map((points, i) => svg("path", { d: path(s, points), fill: "none", stroke: `var(--${COLORS[i % 5]})`, "stroke-width": 2, "stroke-dasharray": ["", "7 3", "2 3", "9 3 2 3"][i % 4] })))));
  }
  const heights = (made) => [...made.theta.subarray(2 * nodes(), 3 * nodes())];

  /** The wave after each layer, one strip below the other. */
  function layersBelow() {
    const wide = figure.width, widths = model.get("widths"), each = 52, tall = each * widths.length + 6;
    put(below, { viewBox: `0 0 ${wide} ${tall}`, height: tall, "aria-label": widths.map((w, l) => `after layer ${l + 1}, of ${w}: ${count(folds(widths.slice(0, l + 1)), "straight part")}`).join(", ") });
    below.replaceChildren(...widths.flatMap((w, l) => {
      const s = scales({ left: 40, top: 4 + l * each, width: wide - 56, height: each - 18 }, { x: range().x, y: [-0.55, 0.55] });
      return [
        svg("path", { d: path(s, corners(deepSpline(deepWave(widths.slice(0, l + 1))), 0, 1)), fill: "none", stroke: `var(--${COLORS[l % 5]})`, "stroke-width": 2, "stroke-linejoin": "round" }),
        svg("text", { x: 40, y: s.box.top + each - 5, class: "soft" }, `after layer ${l + 1}, ${count(w, "neuron")}: ${count(folds(widths.slice(0, l + 1)), "part")}`),
      ];
    }));
  }

  function summary() {
    if (waving()) {
      const widths = model.get("widths"), n = model.get("bits"), all = corner(), right = all.filter((c) => c.right).length, total = widths.reduce((sum, w) => sum + w, 0);
      return `${count(widths.length, "layer")} of ${widths.join(", ")}: ${count(total, "neuron")} fold the line into ${count(folds(), "part")}. Parity of ${count(n, "bit")}: ${right} of ${all.length} numbers of ones are right`
        + `${right < all.length ? "" : ", all of them"}. For this, one hidden layer needs ${count(leastWidth(n), "neuron")}.`;
    }
    const all = data(), k = nodes(), twice = model.get("points").length - all.length;
    const words = k ? `${count(k, "neuron")} ${k > 1 ? "go" : "goes"} through ${k + 1} of ${count(all.length, "point")}. The last one bends at ${text(all[k - 1][0])} and changes nothing left of it.` : `No neuron: a constant, through 1 of ${count(all.length, "point")}.`;
    return words + (twice ? ` ${count(twice, "point")} at a place that is taken ${twice > 1 ? "are" : "is"} left out: a function has one value there.` : "");
  }

  function numbers() {
    const table = (caption, head, body) => html("table", {}, html("caption", {}, caption), html("thead", {}, html("tr", {}, ...head.map((name) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, ...body.map((row, i) => html("tr", {}, html("th", { scope: "row" }, String(row[0] ?? i)), ...row.slice(1).map((v) => html("td", {}, typeof v === "number" ? text(v, 3) : v))))));
    if (waving()) {
      const z = outputs(net(), corner().map((c) => c.x));
      return table("The network at each number of ones", ["ones", "at", "output", "sign"], corner().map((c, k) => [k, c.x, z[k], c.right ? "right" : "wrong"]));
    }
    const made = net(), all = data();
    return table("f(x) = first value + sum of a · max(x − t, 0)", ["neuron", "bends at t", "a"], made ? heights(made).map((a, i) => [i + 1, all[i][0], a]) : []);
  }

  draw();
  return figure.remove;
}

export default { title, defaults, render };
