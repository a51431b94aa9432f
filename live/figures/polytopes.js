/** A deep network of the plane and all its linear pieces, exactly, while it learns what one paints. */
import { affine, network, pattern } from "../core/net.js";
import { Random } from "../core/random.js";
import { area, boundary, clip, heights, regions } from "../core/regions.js";
import { Trainer } from "../core/train.js";
import { parse } from "../core/written.js";
import { scales, ticks } from "../ui/axes.js";
import { button, check, menu, player } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle, within } from "../ui/handle.js";

const MOST = 6000, UNITS = 200;
const MODES = { circle: "paint circles", square: "paint squares", erase: "take points away", look: "move the diamond" };
const DATA = { own: "these points", circle: "a disc in a ring", xor: "four of them, as in XOR", spiral: "two spirals" };
/** How the lines of each layer are drawn: never by colour alone. */
const LINES = [["green", 1.7, ""], ["gold", 1.6, ""], ["blue", 1.3, "5 3"], ["orange", 1, "1.5 2.5"]];
const title = "All the pieces of a deep network";

export const defaults = { points: [[-0.5, 0.5, 1], [0.5, -0.5, 0]], hidden: [8, 8], theta: [], probe: [0.2, 0.1], seed: 1, rate: 0.01, leak: 0, edge: 1.1, slopes: false, few: false, address: false };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let net, trainer, mode = "circle", view = null, painting = false, tried = false, all = [];
  const figure = frame(el, model, {
    name: "polytopes", title, defaults, draw, reset, numbers,
    about: "Thin lines are creases. Between them lie pieces, and on each the network is one straight map. The heavy line is where its output is zero. Drag the diamond: its piece is outlined, and the map of this piece is read below.",
    hints: ["[Tab] to the diamond", "[←] [→] [↑] [↓] move it", "[Shift] makes large steps", "[Enter] paints a point there, [Delete] takes it away"],
  });
  const plot = svg("svg", { role: "group", "aria-label": "The pieces of the plane and the data" }), back = svg("g", { "aria-hidden": "true" });
  const probe = handle({
    label: "probe", kind: "diamond", color: "pink", size: 7, release: () => figure.say(summary()),
    drag: (px, py) => look([view.ux(px), view.uy(py)]),
    move: (dx, dy, far) => look(model.get("probe").map((v, k) => v + [dx, dy][k] * scale() * (far ? 0.2 : 0.02))),
    act: () => mark(model.get("probe")), remove: () => mark(model.get("probe"), "erase"),
  });
  const dual = svg("svg", { role: "img" }), legend = html("p", { class: "hints" });
  plot.append(back, probe.element);
  figure.picture.append(html("div", { class: "row", style: "align-items:flex-end;justify-content:center;margin:0" }, plot, dual, legend));
  const run = player({ step: () => (tried = true) && model.get("points").length > 0 && trainer.steps < 50000 && Number.isFinite(trainer.step()), draw: refresh, ended: () => { refresh(); figure.say(summary()); }, perFrame: 4, most: 1500, stepSize: 10 });
  const tool = menu("a click will", MODES, mode, (next) => {
    mode = next;
  });
  const own = html("textarea", {
    rows: 3, spellcheck: "false", "aria-label": "a network as text, from net.to_json()", placeholder: "Paste what net.to_json() gives, or drop a file",
    ondragover: (event) => event.preventDefault(),
    ondrop: async (event) => {
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      own.value = await file.text();
      take();
    },
  });
  const reach = html("input", { type: "number", min: 0.01, step: "any", value: model.get("edge") });
  const source = menu("data", DATA, "own", (next) => next !== "own" && data(sample(next), next));
  const hidden = () => model.get("hidden"), edge = () => model.get("edge"), scale = () => edge() / 1.1;
  const square = () => [[-1, -1], [1, -1], [1, 1], [-1, 1]].map((p) => p.map((v) => v * edge()));
  const grow = [ // a button, the layers it makes, and whether they may be
    [button("Add a layer", () => shape([...hidden(), hidden().at(-1)])), () => hidden().length < 4],
    [button("Take a layer away", () => shape(hidden().slice(0, -1))), () => hidden().length > 1],
    [button("Wider", () => shape(hidden().map((n) => n + 1))), () => Math.max(...hidden()) < 16],
    [button("Narrower", () => shape(hidden().map((n) => n - 1))), () => Math.min(...hidden()) > 1],
  ];
  const dots = check("show the slopes", model.get("slopes"), (on) => {
    figure.keep({ slopes: on });
    draw();
  });
  if (figure.small) mode = "look"; // it has no tools
  const extra = [
    ...grow.slice(2).map(([one]) => one), dots.element,
    html("div", { class: "row" }, source.element, tool.element, button("Clear the points", () => data([]))),
    html("details", {}, html("summary", {}, "A network of yours"), own, html("div", { class: "row" }, button("Show this network", take), html("label", {}, "the window reaches to ", reach))),
  ];
  const more = button("More tools", () => {
    figure.keep({ few: false });
    tools();
  });
  figure.controls(html("div", { class: "row" }, run.element, button("Another start", () => shape(hidden())), ...grow.slice(0, 2).map(([one]) => one), ...(figure.small ? [] : [more, ...extra.slice(0, 3)])), ...(figure.small ? [] : extra.slice(3)));

  /** All tools, or the few that a story asks for. */
  function tools() {
    for (const one of extra) one.hidden = model.get("few");
    more.hidden = !model.get("few");
  }

  /** The network that was pasted or dropped, in the place of the one that is shown. */
  function take() {
    try {
      const given = parse(own.value), inner = given.sizes.slice(1, -1), units = inner.reduce((sum, n) => sum + n, 0), far = Number(reach.value);
      if (given.sizes[0] !== 2 || given.sizes.at(-1) !== 1 || !units) throw new Error(`Two inputs, hidden neurons and one output can be drawn; this one is ${given.sizes.join("-")}.`);
      if (units > UNITS) throw new Error(`At most ${UNITS} hidden neurons are drawn here; this one has ${units}.`);
      if (!(far > 0)) throw new Error("The window reaches to a number above zero.");
      run.pause(true);
      source.set("own");
      figure.keep({ hidden: inner, theta: [...given.theta], leak: given.leak, edge: far, points: [], probe: [0.2 * far, 0.1 * far] });
      load();
      draw();
      figure.say(summary());
    } catch (error) {
      figure.say(error.message);
    }
  }

  /** Points of two classes: a disc in a ring, four of them with the classes exchanged, or two spirals. */
  function sample(kind) {
    const random = new Random(model.get("seed") + 17), n = kind === "circle" ? 120 : 240;
    return Array.from({ length: n }, (_, k) => {
      const label = k % 2, turn = random.uniform(0, 2 * Math.PI), u = random.uniform();
      const radius = Math.sqrt(label ? 0.49 + 0.51 * u : 0.25 * u), [c, d] = [random.uniform() < 0.5 ? -0.5 : 0.5, random.uniform() < 0.5 ? -0.5 : 0.5];
      const [x, y, z] = kind === "circle" ? [radius * Math.cos(turn), radius * Math.sin(turn), label]
        : kind === "xor" ? [c + 0.45 * radius * Math.cos(turn), d + 0.45 * radius * Math.sin(turn), c * d < 0 ? 1 - label : label]
          : [(0.1 + 0.85 * u) * Math.cos(7 * u + Math.PI * label), (0.1 + 0.85 * u) * Math.sin(7 * u + Math.PI * label), label];
      return [Math.round(x * 1000) / 1000, Math.round(y * 1000) / 1000, z];
    });
  }

  function load() {
    const sizes = [2, ...model.get("hidden"), 1], theta = model.get("theta"), needed = sizes.slice(1).reduce((sum, out, l) => sum + out * (sizes[l] + 1), 0);
    if (theta.length !== needed) figure.keep({ theta: drawn(sizes) });
    net = { sizes, theta: Float64Array.from(model.get("theta")), leak: model.get("leak") };
    const points = model.get("points");
    trainer = new Trainer(net, points.flatMap((p) => [p[0], p[1]]), points.map((p) => p[2]), { loss: "bce", optimizer: "adam", rate: model.get("rate") });
  }
  /** He's weights, and biases that put creases into the picture. */
  function drawn(sizes) {
    const random = new Random(model.get("seed")), weights = [], biases = [];
    sizes.slice(1).forEach((out, l) => {
      weights.push(Array.from({ length: out }, () => Array.from({ length: sizes[l] }, () => random.normal() * Math.sqrt(2 / sizes[l]))));
      biases.push(Array.from({ length: out }, () => 0.4 * random.normal()));
    });
    return [...network(weights, biases).theta];
  }
  function shape(hidden) {
    run.pause(true);
    figure.keep({ hidden, theta: [], seed: (model.get("seed") * 7919 + 1) % 100000 });
    load();
    draw();
    figure.say(summary());
  }
  function data(points, kind = "own") {
    source.set(kind);
    figure.keep({ points });
    tried = false;
    const steps = net.theta;
    load();
    net.theta.set(steps);
    draw();
  }
  function refresh() {
    figure.keep({ theta: [...net.theta] });
    draw();
  }
  function look(place) {
    figure.keep({ probe: place.map((v) => Math.round(Math.max(-scale(), Math.min(scale(), v)) * 1000) / 1000) });
    draw();
  }
  function reset() {
    run.pause(true);
    source.set("own");
    figure.keep(structuredClone(start));
    dots.set(start.slopes);
    tried = false;
    tools();
    load();
    draw();
  }

  const at = (s, p) => `${s.x(p[0]).toFixed(1)} ${s.y(p[1]).toFixed(1)}`;
  const outline = (s, r) => `M${r.corners.map((p) => at(s, p)).join("L")}Z`;
  /** A shade for a piece that stays with its pattern. */
  const shade = (on) => 0.45 + 0.55 * (((on.reduce((sum, k) => (sum * 31 + k * 17 + 7) % 997, 3) * 13) % 97) / 97);

  function draw() {
    if (!run.running() && net && String(model.get("theta")) !== String([...net.theta])) load();
    const dotted = model.get("slopes"), beside = figure.width > 480 && (dotted || hidden().length > 1), side = figure.width > 620 ? 200 : 140, far = ticks(-edge(), edge(), 4), left = 10 + 7 * Math.max(...far.at.map((v) => text(v, far.digits).length));
    const wide = Math.min(figure.width - (beside ? side + 12 : dotted ? 56 : 20), figure.small ? 300 : dotted ? 450 : 500), inner = wide - left - 4, s = (view = scales({ left, top: 4, width: inner, height: inner }, { x: [-edge(), edge()], y: [-edge(), edge()] }));
    const between = (far.at.at(-1) + far.at.at(-2)) / 2; // where no tick is
    put(plot, { viewBox: `0 0 ${wide} ${inner + 24}`, height: inner + 24, style: `width:${wide}px;max-width:100%;touch-action:pan-y` });
    put(dual, { display: dotted ? null : "none" });
    all = regions(net, square()).slice(0, MOST);
    const depth = hidden().length, by = hidden().map((_, l) => (l + 1 < depth ? regions(above(l + 1), square()) : all));
    put(legend, { style: beside && dotted && !figure.small ? "flex:1 0 100%;margin:0" : beside || dotted ? "flex:0 1 auto;width:7rem;margin:0" : "flex:1 0 100%;margin:0;text-align:center" });
    for (const [one, may] of grow) put(one, { disabled: !may() });
    legend.replaceChildren("Creases of ", ...by.flatMap((_, l) => [l ? ", " : "", html("span", { style: "white-space:nowrap" }, svg("svg", { width: 26, height: 8, "aria-hidden": "true" }, svg("path", { d: "M2 4H24", ...line(l), "stroke-width": 2 })), ` layer ${l + 1}`)]), dotted ? ". In the small picture each piece is a dot at its slopes, as large as the piece." : ".");
    const here = String(pattern(net, model.get("probe")).flatMap((on, k) => (on ? [k] : []))), mine = all.find((r) => String(r.on) === here);
    const groups = new Map();
    for (const r of all) {
      const z = heights(r);
      for (const [side, sign] of /** @type {[string, number][]} */ ([["b", 1], ["a", -1]])) {
        const corners = clip(r.corners, z.map((v) => sign * v)), key = `${side}${Math.round(shade(r.on) * 8)}`;
        if (corners.length > 2) groups.set(key, (groups.get(key) ?? "") + outline(s, { corners }));
      }
    }
    const marks = (label, d, color) => svg("path", { d: model.get("points").filter((p) => p[2] === label).map((p) => `M${s.x(p[0]).toFixed(1)} ${s.y(p[1]).toFixed(1)}${d}`).join("") || "M0 0", fill: `var(--${color})`, stroke: "var(--paper)", "stroke-width": 0.8 });
    back.replaceChildren(
      ...[...groups].map(([key, d]) => svg("path", { d, fill: `var(--tint-${key[0]})`, "fill-opacity": Number(key.slice(1)) / 8 })),
      // the last layer first: what lies on a line of an earlier one is painted over by it
      ...by.map((pieces, l) => svg("path", { d: pieces.map((r) => outline(s, r)).join(""), ...line(l) })).reverse(),
      svg("path", { d: outline(s, { corners: square() }), fill: "none", stroke: "var(--paper)", "stroke-width": 4 }),
      ...(mine ? [svg("path", { d: outline(s, mine), fill: "none", stroke: "var(--pink)", "stroke-width": 2.5 })] : []),
      svg("path", { d: boundary(all).map(([p, q]) => `M${at(s, p)}L${at(s, q)}`).join("") || "M0 0", stroke: "var(--ink)", "stroke-width": 2.5, "stroke-linecap": "round", fill: "none" }),
      marks(0, "m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z", "blue"), marks(1, "m-3.2 -3.2h6.4v6.4h-6.4Z", "orange"),
      ...far.at.flatMap((v) => [label(s.x(v), 4 + inner + 15, text(v, far.digits)), label(left - 5, s.y(v) + 4, text(v, far.digits), "end")]),
      label(s.x(between), 4 + inner + 15, "x₁"), label(left - 5, s.y(between) + 4, "x₂", "end"),
    );
    probe.at(s.x(model.get("probe")[0]), s.y(model.get("probe")[1]), model.get("probe")[0], `at ${model.get("probe").map((v) => text(v)).join(", ")}: ${map()}`);
    if (dotted) slopes(side, mine);
    figure.read(summary());
  }

  const label = (x, y, words, anchor = "middle", more = {}) => svg("text", { x, y, "text-anchor": anchor, class: "soft", ...more }, words);
  const line = (l) => {
    const [color, width, dashes] = LINES[l % LINES.length];
    return { fill: "none", stroke: `var(--${color})`, "stroke-width": width, "stroke-dasharray": dashes || null };
  };
  /** The network whose outputs are those of layer l before its activation: its pieces are bounded by the lines below that layer. */
  function above(l) {
    const sizes = net.sizes.slice(0, l + 2), long = sizes.slice(1).reduce((sum, out, k) => sum + out * (sizes[k] + 1), 0);
    return { ...net, sizes, theta: net.theta.subarray(0, long) };
  }
  /** The dual picture: a dot for each piece, at its slope. */
  function slopes(side, mine) {
    const reach = 1.15 * Math.max(1e-9, ...all.map((r) => Math.max(Math.abs(r.rows[0]), Math.abs(r.rows[1]))));
    const halo = { style: "font-size:11px;paint-order:stroke;stroke:var(--paper);stroke-width:3px" };
    const d = scales({ left: 2, top: 16, width: side - 4, height: side - 4 }, { x: [-reach, reach], y: [-reach, reach] }), big = (2 * edge()) ** 2;
    put(dual, { viewBox: `0 0 ${side} ${side + 14}`, height: side + 14, style: `width:${side}px;max-width:100%`, "aria-label": `${all.length} dots at the slopes of the pieces; the diamond's piece has the slope ${text(mine?.rows[0] ?? 0)}, ${text(mine?.rows[1] ?? 0)}` });
    const dot = (r, look) => svg("circle", { cx: d.x(r.rows[0]).toFixed(1), cy: d.y(r.rows[1]).toFixed(1), r: Math.min(12, 1.8 + 16 * Math.sqrt(area(r.corners) / big)).toFixed(1), ...look });
    dual.replaceChildren(
      svg("path", { d: `M${d.x(-reach)} ${d.y(0)}H${d.x(reach)}M${d.x(0)} ${d.y(-reach)}V${d.y(reach)}`, stroke: "var(--line)", fill: "none" }),
      ...all.map((r) => dot(r, { fill: `var(--${heights(r).reduce((a, b) => a + b, 0) > 0 ? "orange" : "blue"})`, "fill-opacity": 0.35 })),
      ...(mine ? [dot(mine, { fill: "none", stroke: "var(--pink)", "stroke-width": 2.5 })] : []),
      label(d.x(0), 11, "slope along x₂", "middle", halo), label(side - 2, d.y(0) - 5, "slope along x₁", "end", halo),
    );
  }

  const map = () => {
    const [[a, b, c]] = affine(net, model.get("probe")), sign = (v) => (v < 0 ? "−\u00a0" : "+\u00a0") + text(Math.abs(v));
    const words = `f = ${text(a)}\u00a0x₁ ${sign(b)}\u00a0x₂ ${sign(c)} = ${text(a * model.get("probe")[0] + b * model.get("probe")[1] + c)}`;
    return words.length > 40 ? words : words.replaceAll(" ", "\u00a0"); // on one line, where a phone has room for it
  };
  function summary() {
    const loss = model.get("points").length ? `, loss ${text(trainer.loss(), 3)}` : tried ? `. No points: ${model.get("few") ? "open More tools and " : ""}paint some to train on` : "";
    return `2-${hidden().join("-")}-1: ${all.length < MOST ? "" : "at least "}${count(all.length, "piece")}, ${count(boundary(all).length, "of them crossed", "of them crossed")} by the heavy line${loss}${trainer.steps ? `, ${count(trainer.steps, "step")}` : ""}.\nAt the diamond (${model.get("probe").map((v) => text(v)).join(", ")})${model.get("address") ? `, address\u00a0${address()},` : ""} ${map()}.`;
  }
  /** Which neurons are on at the diamond, a word of zeros and ones for each layer. */
  function words() {
    const on = pattern(net, model.get("probe"));
    let k = 0;
    return hidden().map((n) => on.slice(k, (k += n)).map((v) => (v ? "1" : "0")));
  }
  const address = () => words().map((word) => word.join("")).join("\u00a0");
  function numbers() {
    const row = (word, l) => html("tr", {}, html("th", { scope: "row" }, String(l + 1)), html("td", {}, word.join(" ")));
    return html("table", {}, html("caption", {}, `The diamond's piece: ${map()}`), html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "layer"), html("th", { scope: "col" }, "which neurons are on"))), html("tbody", {}, ...words().map(row)));
  }

  /** Put a point in at a place, or take those near it away, and say so. */
  function mark(place, how = mode) {
    const before = model.get("points").length;
    touch(place, how);
    const now = model.get("points").length;
    figure.say(now > before ? `A ${how} at ${text(place[0])}, ${text(place[1])}: ${count(now, "point")}.` : now < before ? `${count(before - now, "point")} taken away: ${now} left.` : "Nothing to do here.");
  }
  function touch(place, how) {
    const points = model.get("points"), near = (p, r) => Math.hypot(p[0] - place[0], p[1] - place[1]) < r;
    if (how === "erase") data(points.filter((p) => !near(p, 0.08 * scale())));
    else if (how !== "look" && !points.some((p) => near(p, 0.05 * scale())) && points.length < 400) data([...points, [...place, +(how === "square")]]);
  }
  function paint(event) {
    const [px, py] = within(plot, event), place = [view.ux(px), view.uy(py)].map((v) => Math.round(v * 1000) / 1000);
    if (Math.max(...place.map(Math.abs)) > edge()) return;
    if (mode === "look" || model.get("few")) return look(place);
    touch(place, mode);
  }
  let finger = false;
  put(plot, {
    onpointerdown: (event) => {
      if (event.button) return;
      finger = event.pointerType === "touch"; // it may be about to scroll the page: only a tap paints
      if (finger) return;
      painting = true;
      paint(event);
    },
    onclick: (event) => {
      if (finger) paint(event);
      finger = false;
    },
    onpointermove: (event) => painting && event.pointerType === "mouse" && paint(event),
    onpointerup: () => {
      painting = false;
    },
    onpointerleave: () => {
      painting = false;
    },
  });
  tools();
  load();
  draw();
  return figure.remove;
}

export default { title, defaults, render };
