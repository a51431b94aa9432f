/** A deep network on a line: every switch of every layer, while one lifts a neuron or trains it all. */
import { corners, deepSpline, deepWave } from "../core/deep.js";
import { layers, network } from "../core/net.js";
import { Random } from "../core/random.js";
import { Trainer } from "../core/train.js";
import { axes, HEAD, path, scales } from "../ui/axes.js";
import { button, menu, player, slider } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle, shape } from "../ui/handle.js";

const REACH = 4, MOST = 2000, MARKS = 120;
const LOOKS = [["dot", "blue"], ["square", "orange"], ["diamond", "green"], ["triangle", "pink"], ["left", "gold"]];
const STARTS = { random: "random", fan: "folded like a fan" }, SCALES = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3];
const X = Array.from({ length: 40 }, (_, i) => Math.PI * ((2 * i) / 39 - 1)), Y = X.map((x) => Math.sin(2 * x));
const title = "Where does a deep network bend, layer by layer?";

export const defaults = { hidden: [6, 6, 6], theta: [], start: "random", scale: 1, layer: 2, neuron: 1, data: false, counted: true, seed: 1 };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let net, trainer = null, now = null, view = null, range = /** @type {[number, number]} */ ([-1, 1]), lifted = null, born = 0, died = 0, before = null, news = "";
  const figure = frame(el, model, {
    name: "depth", title, defaults, draw, reset, numbers,
    about: "Top: what the network computes, with a mark at each bend, one shape for each layer; dashed, what one chosen neuron sees, which switches where the dashed line is zero. "
      + "Below: where the neurons of each layer switch. Lift the dashed line by its pink handle.",
    hints: ["[Tab] to the pink handle", "[↑] [↓] lift the dashed line", "[Shift] makes large steps"],
  });
  const plot = svg("svg", { role: "group", "aria-label": "The curve and its bends" }), back = svg("g", { "aria-hidden": "true" }), below = svg("svg", { role: "img" });
  const lift = handle({
    label: "lift the chosen neuron", kind: "diamond", color: "pink", size: 7,
    grab: () => {
      lifted = null;
    },
    drag: (_, py) => {
      const { top, height } = view.box, y = view.uy(Math.max(top, Math.min(top + height, py)));
      lifted ??= [bias(), y];
      raise(lifted[0] + y - lifted[1]);
    },
    move: (dx, dy, far) => raise(bias() + (dy || dx) * (far ? 0.25 : 0.02)),
    release: () => {
      lifted = null;
      draw();
      figure.say(summary());
    },
  });
  plot.append(back, lift.element);
  figure.picture.append(plot, below);
  const run = player({
    step: () => {
      trainer ??= new Trainer(net, X, Y, { loss: "mse", optimizer: "adam", rate: 0.005 });
      news = "";
      if (!model.get("data")) figure.keep({ data: true });
      const more = trainer.steps < 50000 && Number.isFinite(trainer.step());
      if (trainer.steps % 10 === 0) tally(deepSpline(net)); // also where frames are not drawn
      return more;
    },
    draw: () => {
      figure.keep({ theta: [...net.theta] });
      refresh();
    },
    ended: () => figure.say(summary()), name: "Train on a sine", perFrame: 3, most: 3000, stepSize: 10,
  });
  const many = slider("layers", [1, 2, 3, 4, 5], model.get("hidden").length, (n) => reform(n, model.get("hidden")[0]));
  const width = slider("neurons in each", [1, 2, 3, 4, 5, 6, 8, 12, 20, 40], model.get("hidden")[0], (w) => reform(model.get("hidden").length, w));
  const scale = slider("scale of the biases", SCALES, model.get("scale"), (s) => {
    const ratio = s / model.get("scale"), theta = [...net.theta];
    for (const { b, out } of layers(net)) for (let i = b; i < b + out; i++) theta[i] *= ratio;
    change({ theta, scale: s });
  });
  const begin = menu("start", STARTS, model.get("start"), (kind) => {
    figure.keep({ start: kind });
    fresh();
  });
  const which = menu("dashed: layer", {}, "", (words) => dash(Number(words), Math.min(model.get("neuron"), model.get("hidden")[Number(words)] - 1)));
  const who = menu("its neuron", {}, "", (words) => dash(model.get("layer"), Number(words)));
  function dash(layer, neuron) {
    figure.keep({ layer, neuron });
    choices();
    range = null;
    refresh();
    figure.say(summary());
  }
  /** The layers there are, and the neurons of the one that is chosen. */
  function choices() {
    const numbered = (n) => Array.from({ length: n }, (_, i) => html("option", { value: String(i) }, String(i + 1)));
    which.input.replaceChildren(...numbered(model.get("hidden").length));
    who.input.replaceChildren(...numbered(model.get("hidden")[model.get("layer")]));
    which.set(String(model.get("layer")));
    who.set(String(model.get("neuron")));
  }
  // where the page asks for a guess first, the figure counts when it is asked to
  const counting = button("Count the bends", () => {
    figure.keep({ counted: true });
    refresh();
    figure.say(summary());
  });
  figure.controls(
    html("div", { class: "row" }, run.element, button("Another start", () => fresh()), counting),
    html("div", { class: "row" }, which.element, who.element, begin.element, many.element, width.element, scale.element),
  );

  /** The network of the state; where its weights are missing or do not fit, new ones. */
  function load() {
    const sizes = [1, ...model.get("hidden"), 1], needed = sizes.slice(1).reduce((sum, out, l) => sum + out * (sizes[l] + 1), 0);
    if (model.get("theta").length !== needed) figure.keep({ theta: drawn(sizes) });
    net = { sizes, theta: Float64Array.from(model.get("theta")), leak: 0 };
    trainer = null;
    before = null;
    born = died = 0;
    figure.keep({ layer: Math.min(model.get("layer"), sizes.length - 3), neuron: Math.min(model.get("neuron"), sizes[Math.min(model.get("layer"), sizes.length - 3) + 1] - 1) });
    choices();
    range = null;
  }
  function drawn(sizes) {
    if (model.get("start") === "fan") return [...deepWave(sizes.slice(1, -1), -REACH, REACH).theta];
    const random = new Random(model.get("seed")), normal = (n, size) => Array.from({ length: n }, () => size * random.normal()), weights = [], biases = [];
    sizes.slice(1).forEach((out, l) => {
      weights.push(Array.from({ length: out }, () => normal(sizes[l], Math.sqrt(2 / sizes[l]))));
      biases.push(normal(out, model.get("scale")));
    });
    return [...network(weights, biases).theta];
  }
  function change(changes) {
    run.pause(true);
    figure.keep(changes);
    load();
    refresh();
  }
  const reform = (n, w) => (n === model.get("hidden").length && w === model.get("hidden")[0] ? null : form(n, w));
  function fresh() {
    form(model.get("hidden").length, model.get("hidden")[0]);
  }
  /** So many layers of so many neurons; a fan with more pieces than can be drawn is made smaller. */
  function form(n, w) {
    news = "";
    if (model.get("start") === "fan") { // its biases have a scale of their own
      figure.keep({ scale: 1 });
      scale.set(1);
    }
    if (model.get("start") === "fan" && w ** n > MOST) {
      news = `${(w ** n).toLocaleString("en-US")} pieces are too many to draw`;
      while (w ** n > MOST) n--;
      news += `: here are ${count(n, "layer")}. `;
    }
    change({ hidden: new Array(n).fill(w), theta: [], data: false, seed: (model.get("seed") * 7919 + 1) % 100003 });
    many.set(n);
    width.set(w);
    figure.say(summary());
  }
  function reset() {
    news = "";
    change(structuredClone(start));
    many.set(start.hidden.length);
    width.set(start.hidden[0]);
    scale.set(start.scale);
    begin.set(start.start);
  }

  const place = () => layers(net)[model.get("layer")].b + model.get("neuron");
  const bias = () => net.theta[place()];
  function raise(value) {
    run.pause(true);
    news = "";
    trainer = null;
    net.theta[place()] = value;
    figure.keep({ theta: [...net.theta] });
    refresh();
  }
  /** Draw, and count. */
  function refresh() {
    draw();
    tally(now);
    figure.read(summary());
  }
  /** Count what was born and what died since the last time. */
  function tally({ breakpoints }) {
    const counts = {};
    for (const { layer, neuron } of breakpoints) counts[`${layer} ${neuron}`] = (counts[`${layer} ${neuron}`] ?? 0) + 1;
    for (const key of before ? new Set([...Object.keys(counts), ...Object.keys(before)]) : []) {
      const more = (counts[key] ?? 0) - (before[key] ?? 0);
      born += Math.max(0, more);
      died += Math.max(0, -more);
    }
    before = counts;
  }

  /** What the chosen neuron sees, from -REACH to REACH. */
  function seen() {
    const i = 2 * model.get("neuron"), parts = now.above[model.get("layer")].filter((s) => s.to > -REACH && s.from < REACH);
    const at = (s, x) => [x, s.rows[i] * x + s.rows[i + 1]];
    return [at(parts[0], -REACH), ...parts.map((s) => at(s, Math.min(REACH, s.to)))];
  }
  const layerOf = () => new Map(now.breakpoints.map((b) => [b.place, b.layer]));
  const inView = (list) => list.filter((x) => Math.abs(x) < REACH);

  function draw() {
    now = deepSpline(net);
    const wide = figure.width, tall = HEAD + Math.max(194, Math.min(274 - 14 * Math.max(0, model.get("hidden").length - 3), 0.4 * wide)), line = corners(now, -REACH, REACH), dashed = seen();
    const ys = (range ? line : [...line, ...dashed]).map((p) => p[1]), low = Math.min(...ys), high = Math.max(...ys);
    if (!range || (!lift.held && (low < range[0] || high > range[1] || high - low < 0.3 * (range[1] - range[0])))) { // under a hand nothing grows or shrinks
      const room = 0.15 * Math.max(high - low, 1);
      range = [Math.min(low, 0) - room, Math.max(high, 0) + room];
    }
    const box = { left: 40, top: HEAD, width: wide - 60, height: tall - HEAD - 24 }, marks = inView(now.knots), of = layerOf();
    view = scales(box, { x: [-REACH, REACH], y: range });
    put(plot, { viewBox: `0 0 ${wide} ${tall}`, height: tall });
    const clipped = svg("svg", { x: box.left, y: box.top, width: box.width, height: box.height, overflow: "hidden" }, svg("g", { transform: `translate(${-box.left} ${-box.top})` },
      svg("path", { d: `M${box.left} ${view.y(0)}h${box.width}`, stroke: "var(--line)", fill: "none" }),
      svg("path", { d: path(view, dashed), fill: "none", stroke: "var(--pink)", "stroke-width": 2, "stroke-dasharray": "6 4" }),
      ...(model.get("data") ? [svg("path", { d: X.map((x, p) => `M${view.x(x).toFixed(1)} ${view.y(Y[p]).toFixed(1)}h0`).join(""), stroke: "var(--soft)", "stroke-width": 5, "stroke-linecap": "round", fill: "none" })] : []),
      svg("path", { d: path(view, line), fill: "none", stroke: "var(--ink)", "stroke-width": 2, "stroke-linejoin": "round" })));
    back.replaceChildren(axes(view, { yName: "f(x)" }), clipped,
      ...(marks.length > MARKS ? [] : marks.map((x) => {
        const [kind, color] = LOOKS[(of.get(x) ?? 0) % LOOKS.length], k = now.knots.indexOf(x);
        return svg("path", { d: shape(kind, 4.5), transform: `translate(${view.x(x).toFixed(2)} ${view.y(now.slopes[k] * x + now.intercepts[k]).toFixed(2)})`, fill: `var(--${color})`, stroke: "var(--paper)" });
      })));
    const end = dashed.at(-1)[1];
    lift.at(view.x(REACH), view.y(Math.max(range[0], Math.min(range[1], end))), bias(), `bias ${text(bias())}, ${often()}`);
    rows(wide);
    figure.read(summary());
  }

  /** One row of ticks for each layer; those of the chosen neuron stand out. */
  function rows(wide) {
    const hidden = model.get("hidden"), each = 30, tall = each * hidden.length + 44, box = { left: 40, top: 4, width: wide - 60, height: tall - 40 };
    const s = scales(box, { x: [-REACH, REACH], y: [0, 1] }), foot = (l) => box.top + (l + 1) * each;
    const ticks = (list, l) => list.filter((b) => b.layer === l && Math.abs(b.place) < REACH).map((b) => `M${s.x(b.place).toFixed(2)} ${foot(l)}v-${each - 10}`).join("");
    put(below, { viewBox: `0 0 ${wide} ${tall}`, height: tall, "aria-label": `Switches by layer, in view: ${hidden.map((_, l) => `layer ${l + 1} has ${now.breakpoints.filter((b) => b.layer === l && Math.abs(b.place) < REACH).length}`).join(", ")}` });
    below.replaceChildren(axes(s, { yTicks: false, xName: "x" }), ...hidden.flatMap((_, l) => {
      const [kind, color] = LOOKS[l % LOOKS.length], y = foot(l);
      return [
        svg("path", { d: `M${box.left} ${y}h${box.width}`, stroke: "var(--grid)" }),
        svg("path", { d: shape(kind, 5), transform: `translate(${box.left - 26} ${y - 10})`, fill: `var(--${color})` }), svg("text", { x: box.left - 6, y: y - 5, "text-anchor": "end", class: "soft" }, String(l + 1)),
        svg("path", { d: ticks(now.breakpoints, l) || "M0 0", stroke: `var(--${color})`, "stroke-width": 1.6 }),
        svg("path", { d: ticks(own(), l) || "M0 0", stroke: "var(--pink)", "stroke-width": 4, "stroke-opacity": 0.6 }),
      ];
    }));
  }

  /** Why there may be fewer bends of the curve than switches of neurons. */
  function unseen() {
    const lost = now.breakpoints.length - now.knots.length;
    return lost > 0 ? ` ${count(lost, "switch", "switches")} ${lost > 1 ? "are" : "is"} no bend of the curve: nothing passes ${lost > 1 ? "them" : "it"} on, or another stands at the same place.` : "";
  }
  const own = () => now.breakpoints.filter((b) => b.layer === model.get("layer") && b.neuron === model.get("neuron"));
  const often = () => ["never switches", "switches once", "switches twice"][own().length] ?? `switches ${own().length} times`;
  function summary() {
    counting.hidden = model.get("counted");
    if (!model.get("counted")) return `${news}The dashed neuron ${often()}.`;
    const hidden = model.get("hidden"), most = hidden.reduce((product, n) => product * (n + 1), 1), total = hidden.reduce((sum, n) => sum + n, 0);
    return `${news}${count(total, "neuron")}: ${count(now.breakpoints.length, "switch", "switches")}, ${count(now.knots.length + 1, "piece")} on the whole line (${(inView(now.knots).length + 1).toLocaleString("en-US")} in view), at most ${most.toLocaleString("en-US")}.${unseen()} `
      + `The dashed neuron ${often()}.${born + died ? ` Born so far: ${born}, died: ${died}.` : ""}${trainer ? ` ${count(trainer.steps, "step")}, mean squared error ${text(trainer.loss(), 4)}.` : ""}`;
  }

  function numbers() {
    const of = (l) => now.breakpoints.filter((b) => b.layer === l), kinks = new Set(now.knots);
    const row = (n, l) => html("tr", {}, html("th", { scope: "row" }, String(l + 1)), ...[n, of(l).length, of(l).filter((b) => Math.abs(b.place) < REACH).length, of(l).filter((b) => kinks.has(b.place)).length].map((v) => html("td", {}, String(v))));
    const head = ["layer", "neurons", "switches", "in view", "at a bend of f"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, "Where neurons switch"), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...model.get("hidden").map(row)));
  }

  load();
  refresh();
  return figure.remove;
}

export default { title, defaults, render };
