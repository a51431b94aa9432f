/** A small classifier of the plane: click what it gets wrong, see the line that would fold its boundary there, accept it, train on. */
import { fold, mistakes, switchingLines, typical } from "../core/fold.js";
import { layers, network, parts, widen } from "../core/net.js";
import { Random } from "../core/random.js";
import { boundary, clip, heights, regions } from "../core/regions.js";
import { Trainer } from "../core/train.js";
import { axes, HEAD, scales } from "../ui/axes.js";
import { button, check, menu, player, slider } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle, shape, within } from "../ui/handle.js";

const EDGE = 1.15;
const FRAME = [[-EDGE, -EDGE], [EDGE, -EDGE], [EDGE, EDGE], [-EDGE, EDGE]];
const MODES = { look: "choose a mistake", circle: "add circles", square: "add squares", erase: "take points away" };
const title = "Fold where the network is wrong";

export const defaults = {
  points: [[-0.5, 0.5, 1], [0.5, -0.5, 0], [-0.5, -0.5, 0], [0.5, 0.5, 1]],
  weights: [[[1, 1], [1, -1]], [[1, -1]]], biases: [[0, 0], [0]],
  size: 1, angle: 45, rate: 0.01, frozen: false, added: 0, chosen: null, mark: null,
};

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let net, trainer, x, y, wrong, mode = "look", focus = 0, view = null, history = [];

  const figure = frame(el, model, {
    name: "folding", title, defaults, draw: refresh, numbers, reset,
    about: "Circles and squares are two classes; the tinted side shows which one the network answers, a heavy line the decision boundary. Crosses are its mistakes. "
      + "Thin lines are those on which its neurons switch on; a green one belongs to a neuron that you add, dotted where you put it.",
    hints: ["[Tab] to the mistakes", "[←] [→] go from one to the next", "[Enter] chooses it", "to put in points, choose what a click will do: arrows move the pink diamond, [Enter] puts one there, [Delete] takes it away"],
  });
  const plot = svg("svg", { role: "group", "aria-label": "The data, the decision boundary and the lines of the neurons" });
  const back = svg("g", { "aria-hidden": "true" }), marks = svg("g", { role: "group", "aria-label": "Mistakes" }), front = svg("g", { "aria-hidden": "true" });
  let spot = [0, 0];
  const pen = handle({
    label: "where a point goes", kind: "diamond", color: "pink", size: 6,
    drag: (px, py) => aim([view.ux(px), view.uy(py)]),
    move: (dx, dy, far) => aim([spot[0] + dx * (far ? 0.2 : 0.02), spot[1] + dy * (far ? 0.2 : 0.02)]),
    act: () => touch(spot), remove: () => touch(spot, "erase"),
  });
  plot.append(back, front, marks, pen.element);
  const chart = svg("svg", { role: "img" });
  put(figure.picture, { style: "display:flex;flex-wrap:wrap;gap:.4rem;align-items:end" });
  figure.picture.append(plot, chart);

  const run = player({
    step: () => {
      if (!y.length) return false;
      const before = trainer.step();
      history.push(before);
      return Number.isFinite(before) && trainer.steps < 100000;
    },
    draw: () => {
      store();
      refresh();
    },
    ended: () => tell(),
    perFrame: 6, most: 2000, stepSize: 10,
  });
  const accept = button("Fold here", acceptFold, { class: "main" });
  const mine = button("Choose one for me", () => choose(typical(net, x, y)));
  const size = slider("strength", [0, 0.1, 0.2, 0.5, 1, 2, 4], model.get("size"), (v) => changed({ size: v }));
  const angle = slider("turned by", [5, 15, 30, 45, 60, 75, 85], model.get("angle"), (v) => changed({ angle: v }), (v) => `${v}°`);
  const frozen = check("old neurons frozen", model.get("frozen"), (on) => {
    figure.keep({ frozen: on });
    retrain();
    figure.say(on ? "Only what you add is trained." : "All neurons are trained.");
  });
  const clicks = menu("a click will", MODES, mode, (next) => {
    mode = next;
    refresh();
  });
  figure.controls(
    html("div", { class: "row" }, mine, accept, run.element),
    html("div", { class: "row" }, size.element, angle.element),
    html("div", { class: "row" }, frozen.element, clicks.element, button("New random start", scatter), button("Clear the points", () => data([]))),
  );

  load();

  function load() {
    net = network(model.get("weights"), model.get("biases"));
    const points = model.get("points");
    x = Float64Array.from(points.flatMap((p) => [p[0], p[1]]));
    y = Float64Array.from(points.map((p) => p[2]));
    retrain();
  }

  function retrain() {
    const k = model.get("added"), hidden = net.sizes[1], [first, last] = layers(net);
    const free = model.get("frozen") ? new Array(net.theta.length).fill(false) : undefined;
    for (let i = free ? hidden - k : hidden; i < hidden; i++) {
      free[first.w + 2 * i] = free[first.w + 2 * i + 1] = free[first.b + i] = free[last.w + i] = true;
    }
    trainer = new Trainer(net, x, y, { loss: "bce", optimizer: "adam", rate: model.get("rate"), free });
  }

  function store() {
    figure.keep(parts(net));
  }

  function changed(changes) {
    figure.keep(changes);
    refresh();
  }

  function data(points) {
    run.pause(true);
    figure.keep({ points, chosen: null });
    history = [];
    load();
    refresh();
  }

  function scatter() {
    run.pause(true);
    const random = new Random(Math.floor(Math.random() * 2 ** 32)), unit = () => random.uniform(-1, 1);
    figure.keep({ weights: [[0, 1].map(() => [unit(), unit()]), [[unit(), unit()]]], biases: [[unit() / 2, unit() / 2], [0]], added: 0, chosen: null, mark: null });
    history = [];
    load();
    refresh();
    tell();
  }

  function reset() {
    run.pause(true);
    figure.keep(structuredClone(start));
    history = [];
    size.set(start.size);
    angle.set(start.angle);
    frozen.set(start.frozen);
    load();
    refresh();
  }

  function choose(p) {
    if (p === null) return figure.say("There is no mistake left.");
    run.pause(true);
    figure.keep({ chosen: p });
    focus = Math.max(0, wrong.indexOf(p));
    refresh();
    const found = proposal();
    figure.say(`Mistake at ${text(found.at[0])}, ${text(found.at[1])}. The new line goes through the boundary at ${text(found.point[0])}, ${text(found.point[1])}. Fold here accepts it.`);
  }

  const proposal = () => (model.get("chosen") === null || !y.length ? null : fold(net, x, y, model.get("chosen"), model.get("size"), (model.get("angle") * Math.PI) / 180));

  function acceptFold() {
    const found = proposal();
    if (!found) return;
    net = widen(net, 0, found.incoming, found.bias, [found.outgoing]);
    const length = Math.hypot(...found.incoming);
    figure.keep({ added: model.get("added") + 1, chosen: null, mark: { normal: found.incoming.map((w) => w / length), offset: found.bias / length } });
    store();
    retrain();
    refresh();
    figure.say(`The network has ${count(net.sizes[1], "neuron")} now and makes ${count(wrong.length, "mistake")}. Train, and watch the fold.`);
  }

  function refresh() {
    if (!run.running() && String(parts(net).weights) !== String(model.get("weights"))) load();
    wrong = mistakes(net, x, y);
    if (model.get("chosen") !== null && !wrong.includes(model.get("chosen"))) figure.keep({ chosen: null });
    const wide = Math.min(figure.width, figure.small ? 480 : 520), s = (view = scales({ left: 8, top: 8, width: wide - 16, height: wide - 16 }, { x: [-EDGE, EDGE], y: [-EDGE, EDGE] }));
    put(plot, { viewBox: `0 0 ${wide} ${wide}`, height: wide, style: `width:${wide}px;max-width:100%;touch-action:manipulation` });
    drawGround(s);
    drawMarks(s);
    drawFold(s);
    drawChart();
    put(pen.element, { display: mode === "look" ? "none" : null });
    pen.at(s.x(spot[0]), s.y(spot[1]), spot[0], `at ${text(spot[0])}, ${text(spot[1])}`);
    put(accept, { disabled: !proposal() });
    put(mine, { disabled: !wrong.length });
    read();
  }

  const at = (s, p) => `${s.x(p[0]).toFixed(1)} ${s.y(p[1]).toFixed(1)}`;
  const polygon = (s, corners) => (corners.length > 2 ? `M${corners.map((p) => at(s, p)).join("L")}Z` : "");
  /** @param {import("../ui/axes.js").View} s @param {number[][]} ends */
  const segment = (s, [p, q]) => `M${at(s, p)}L${at(s, q)}`;

  /** Where the line normal.x + offset = 0 meets the frame. @param {{ normal: number[], offset: number }} line */
  function chord({ normal: [a, b], offset }) {
    const ends = [];
    FRAME.forEach((p, i) => {
      const q = FRAME[(i + 1) % 4], u = a * p[0] + b * p[1] + offset, v = a * q[0] + b * q[1] + offset;
      if (u >= 0 !== v >= 0) ends.push([p[0] + ((q[0] - p[0]) * u) / (u - v), p[1] + ((q[1] - p[1]) * u) / (u - v)]);
    });
    return ends.length === 2 ? ends : null;
  }

  function drawGround(s) {
    const all = regions(net, FRAME), sides = [1, -1].map((sign) => all.map((r) => polygon(s, clip(r.corners, heights(r).map((z) => sign * z)))).join(""));
    const lines = switchingLines(net).map((c, i) => ({ ends: c && chord(c), mine: i >= net.sizes[1] - model.get("added") })).filter((c) => c.ends);
    const thin = (mine) => svg("path", { d: lines.filter((c) => c.mine === mine).map((c) => segment(s, c.ends)).join("") || "M0 0", stroke: `var(--${mine ? "green" : "soft"})`, "stroke-width": mine ? 2 : 1, opacity: mine ? 1 : 0.7, fill: "none" });
    const dots = (label, kind, color) => svg("path", { d: pointsOf(s, label, kind), fill: `var(--${color})`, stroke: "var(--paper)", "stroke-width": 0.8 });
    const mark = model.get("mark"), was = mark && chord(mark);
    back.replaceChildren(
      svg("path", { d: sides[0] || "M0 0", fill: "var(--tint-b)", "shape-rendering": "crispEdges" }), svg("path", { d: sides[1] || "M0 0", fill: "var(--tint-a)", "shape-rendering": "crispEdges" }),
      svg("path", { d: polygon(s, FRAME), fill: "none", stroke: "var(--line)" }),
      thin(false), ...(was ? [svg("path", { d: segment(s, was), stroke: "var(--green)", "stroke-width": 1.5, "stroke-dasharray": "2 4", fill: "none" })] : []), thin(true),
      svg("path", { d: boundary(all).map((e) => segment(s, e)).join("") || "M0 0", stroke: "var(--ink)", "stroke-width": 3, "stroke-linecap": "round", fill: "none" }),
      dots(0, "dot", "blue"), dots(1, "square", "orange"),
    );
  }

  function pointsOf(s, label, kind) {
    let d = "";
    for (let p = 0; p < y.length; p++) if (y[p] === label) d += moved(kind, kind === "dot" ? 3.6 : 3.2, s.x(x[2 * p]), s.y(x[2 * p + 1]));
    return d || "M0 0";
  }

  const moved = (kind, r, px, py) => (kind === "dot"
    ? `M${(px - r).toFixed(1)} ${py.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`
    : `M${(px - r).toFixed(1)} ${(py - r).toFixed(1)}h${2 * r}v${2 * r}h${-2 * r}Z`);

  /** The mistakes can be chosen: one of them is in the order of Tab, arrows lead to the others. */
  function drawMarks(s) {
    focus = Math.min(focus, Math.max(0, wrong.length - 1));
    const had = marks.contains(figure.root.getRootNode().activeElement);
    while (marks.children.length > wrong.length) marks.lastChild.remove();
    while (marks.children.length < wrong.length) marks.append(pick(marks.children.length));
    wrong.forEach((p, k) => {
      const on = p === model.get("chosen");
      put(marks.children[k], {
        transform: `translate(${s.x(x[2 * p]).toFixed(1)} ${s.y(x[2 * p + 1]).toFixed(1)})`, tabindex: k === focus ? 0 : -1, "aria-pressed": String(on),
        "aria-label": `mistake ${k + 1} of ${wrong.length}, a ${y[p] ? "square" : "circle"} at ${text(x[2 * p])}, ${text(x[2 * p + 1])}`,
      });
    });
    if (had && wrong.length) marks.children[focus].focus({ preventScroll: true });
  }

  function pick(k) {
    const element = svg("g", { class: "pick", role: "button" }, svg("circle", { class: "halo", r: 11 }), svg("path", { d: shape("cross", 5), stroke: "var(--ink)", "stroke-width": 2, fill: "none" }));
    const go = (next) => {
      focus = (next + wrong.length) % wrong.length;
      refresh();
      marks.children[focus].focus({ preventScroll: true });
    };
    put(element, {
      onclick: (event) => {
        if (mode !== "look") return;
        event.stopPropagation();
        choose(wrong[k]);
      },
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (step) go(k + step);
        else if (event.key === "Enter" || event.key === " ") choose(wrong[k]);
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
    });
    return element;
  }

  function drawFold(s) {
    const found = proposal();
    if (!found) return front.replaceChildren();
    const length = Math.hypot(...found.incoming), added = chord({ normal: found.incoming.map((w) => w / length), offset: found.bias / length });
    const edge = Math.hypot(...found.normal), piece = chord({ normal: found.normal.map((w) => w / edge), offset: found.offset / edge });
    const after = boundary(regions(widen(net, 0, found.incoming, found.bias, [found.outgoing]), FRAME));
    const [a, b] = found.incoming.map((w) => w / length), [px, py] = [s.x(found.point[0]), s.y(found.point[1])];
    const arrow = `M${px} ${py}l${26 * a} ${-26 * b}m${-8 * a - 5 * b} ${8 * b - 5 * a}l${8 * a + 5 * b} ${-8 * b + 5 * a}l${-8 * a + 5 * b} ${8 * b + 5 * a}`;
    const line = (d, color, width, dashes, opacity = 1) => svg("path", { d, stroke: `var(--${color})`, "stroke-width": width, "stroke-dasharray": dashes, fill: "none", opacity });
    front.replaceChildren(
      ...(piece ? [line(segment(s, piece), "ink", 1.2, "7 4")] : []),
      line(after.map((e) => segment(s, e)).join("") || "M0 0", "pink", 3, "2 3"),
      ...(added ? [line(segment(s, added), "green", 2.5, null)] : []), line(arrow, "green", 2, null),
      line(`M${at(s, found.at)}L${px} ${py}`, "ink", 1, "2 2"),
      svg("circle", { cx: s.x(found.at[0]), cy: s.y(found.at[1]), r: 9, fill: "none", stroke: "var(--ink)", "stroke-width": 2 }),
      svg("path", { d: shape("diamond", 5), transform: `translate(${px} ${py})`, fill: "var(--green)", stroke: "var(--paper)" }),
    );
  }

  function drawChart() {
    // beside the picture where there is room
    const beside = figure.width > 700, wide = beside ? figure.width - 530 : figure.width, tall = beside ? 214 : 98;
    put(chart, { viewBox: `0 0 ${wide} ${tall}`, height: history.length > 1 ? tall : 0, style: `width:${wide}px`, "aria-label": `Loss over ${count(history.length, "step")} of training` });
    if (history.length < 2) return chart.replaceChildren();
    const top = Math.max(...history.slice(0, 1), ...history.filter((_, i) => i % 10 === 0)), s = scales({ left: 40, top: HEAD, width: wide - 60, height: tall - HEAD - 22 }, { x: [0, history.length], y: [0, top * 1.05] });
    const every = Math.ceil(history.length / 300), shown = history.flatMap((v, i) => (i % every ? [] : [[i, v]]));
    const d = "M" + shown.map((p) => `${s.x(p[0]).toFixed(1)} ${s.y(p[1]).toFixed(1)}`).join("L");
    chart.replaceChildren(axes(s, { yName: "loss" }), svg("path", { d, fill: "none", stroke: "var(--blue)", "stroke-width": 2 }));
  }

  /** How far the newest line has moved from where the fold was made: the angle in degrees, and the farthest that it went in the picture. */
  function drift() {
    const mark = model.get("mark"), now = switchingLines(net)[net.sizes[1] - 1];
    if (!mark || !model.get("added") || !now) return null;
    const dot = mark.normal[0] * now.normal[0] + mark.normal[1] * now.normal[1];
    return { turned: (Math.acos(Math.max(-1, Math.min(1, dot))) * 180) / Math.PI, shift: Math.max(0, ...far(mark, now), ...far(now, mark)) };
  }

  /** How far the ends of one line in the picture are from another line. */
  const far = (line, other) => (chord(line) ?? []).map(([a, b]) => Math.abs(other.normal[0] * a + other.normal[1] * b + other.offset));

  function read() {
    if (!y.length) return figure.read("No points: choose what a click puts in, then click, or press Enter at the diamond.");
    const right = (100 * (y.length - wrong.length)) / y.length, moved = drift();
    figure.read([count(wrong.length, "mistake")], ` among ${count(y.length, "point")} (${right.toFixed(1)} % right), ${count(net.sizes[1], "neuron")}, loss ${text(trainer.loss(), 3)}`,
      trainer.steps ? `, ${count(trainer.steps, "step")}.` : ".",
      moved && trainer.steps ? ` The fold has turned by ${text(moved.turned, 0)}° and moved by up to ${text(moved.shift)} in the picture since you made it.` : "",
      model.get("chosen") === null ? "" : " Green: the line of the new neuron, with an arrow to the side on which it is on. Dashed: the piece of the boundary that it folds. Dotted: the boundary after it.");
  }

  function tell() {
    const moved = drift();
    figure.say(`${count(wrong.length, "mistake")} among ${y.length}, loss ${text(trainer.loss(), 3)} after ${count(trainer.steps, "step")}.` + (moved ? ` The fold has turned by ${text(moved.turned, 0)} degrees and moved by ${text(moved.shift)}.` : ""));
  }

  function numbers() {
    const { weights, biases } = parts(net), places = switchingLines(net);
    const row = (c, i) => html("tr", {}, html("th", { scope: "row" }, `${i + 1}${i >= net.sizes[1] - model.get("added") ? ", added" : ""}`),
      ...[weights[0][i][0], weights[0][i][1], biases[0][i], weights[1][0][i], c ? c.strength : 0].map((v) => html("td", {}, text(v, 3))));
    const head = ["neuron", "w₁", "w₂", "b", "v", "strength v·|w|"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, `The lines w·x + b = 0 of the neurons, and the output bias ${text(biases[1][0], 3)}`), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...places.map(row)));
  }

  function aim(place) {
    spot = place.map((v) => Math.round(Math.max(-1, Math.min(1, v)) * 1000) / 1000);
    refresh();
  }
  /** Put a point in, or take those near it away. */
  function touch(place, how = mode) {
    const points = model.get("points"), before = points.length;
    if (how === "circle" || how === "square") data([...points, [...place, +(how === "square")]]);
    if (how === "erase") data(points.filter((p) => Math.hypot(p[0] - place[0], p[1] - place[1]) > 0.08));
    const now = model.get("points").length;
    figure.say(now > before ? `A ${how} at ${text(place[0])}, ${text(place[1])}: ${count(now, "point")}.` : now < before ? `${count(before - now, "point")} taken away: ${now} left.` : "There is no point here.");
  }

  put(plot, {
    onclick: (event) => {
      if (event.target.closest(".handle")) return;
      const [px, py] = within(plot, event), place = [view.ux(px), view.uy(py)].map((v) => Math.round(v * 1000) / 1000);
      if (Math.max(...place.map(Math.abs)) > EDGE) return;
      if (mode !== "look") touch(place);
      else if (model.get("chosen") !== null) changed({ chosen: null });
    },
  });
  refresh();
  return figure.remove;
}

export default { title, defaults, render };
