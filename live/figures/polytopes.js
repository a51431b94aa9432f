/** A deep network of the plane and all its linear pieces, exactly, while it learns what one paints. */
import { affine, network, pattern } from "../core/net.js";
import { Random } from "../core/random.js";
import { boundary, clip, heights, regions } from "../core/regions.js";
import { Trainer } from "../core/train.js";
import { scales } from "../ui/axes.js";
import { button, menu, player } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle } from "../ui/handle.js";

const EDGE = 1.1, FRAME = [[-EDGE, -EDGE], [EDGE, -EDGE], [EDGE, EDGE], [-EDGE, EDGE]], MOST = 6000;
const MODES = { circle: "paint circles", square: "paint squares", erase: "take points away" };
const title = "All the linear pieces of a deep network";

export const defaults = { points: [[-0.5, 0.5, 1], [0.5, -0.5, 0]], hidden: [8, 8], theta: [], probe: [0.2, 0.1], seed: 1, rate: 0.01 };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let net, trainer, mode = "circle", view = null, painting = false, all = [];
  const figure = frame(el, model, {
    name: "polytopes", title, defaults, draw, reset, numbers,
    about: "Each cell is a piece of the plane on which the network is one straight map. The heavy line is its border between circles and squares. Drag the diamond: it tells the map of its cell. "
      + "Lines of the second layer bend where they cross those of the first.",
    hints: ["[Tab] to the diamond", "[←] [→] [↑] [↓] move it", "[Shift] makes large steps"],
  });
  const plot = svg("svg", { role: "group", "aria-label": "The pieces of the plane and the data" }), back = svg("g", { "aria-hidden": "true" });
  const probe = handle({
    label: "probe", kind: "diamond", color: "pink", size: 7, release: () => figure.say(summary()),
    drag: (px, py) => look([view.ux(px), view.uy(py)]),
    move: (dx, dy, far) => look(model.get("probe").map((v, k) => v + [dx, dy][k] * (far ? 0.2 : 0.02))),
  });
  plot.append(back, probe.element);
  figure.picture.append(plot);
  const run = player({ step: () => trainer.steps < 50000 && Number.isFinite(trainer.step()), draw: refresh, ended: () => figure.say(summary()), perFrame: 4, most: 1500, stepSize: 10 });
  const tool = menu("a click will", MODES, mode, (next) => {
    mode = next;
  });
  figure.controls.append(
    html("div", { class: "row" }, run.element, button("Another start", () => shape(model.get("hidden"))), tool.element, button("Clear the points", () => data([]))),
    html("div", { class: "row" },
      button("Add a layer", () => model.get("hidden").length < 4 && shape([...model.get("hidden"), 8])), button("Take a layer away", () => model.get("hidden").length > 1 && shape(model.get("hidden").slice(0, -1))),
      button("Wider", () => Math.max(...model.get("hidden")) < 16 && shape(model.get("hidden").map((n) => n + 2))), button("Narrower", () => Math.min(...model.get("hidden")) > 2 && shape(model.get("hidden").map((n) => n - 2)))),
  );

  function load() {
    const sizes = [2, ...model.get("hidden"), 1], theta = model.get("theta"), needed = sizes.slice(1).reduce((sum, out, l) => sum + out * (sizes[l] + 1), 0);
    if (theta.length !== needed) figure.keep({ theta: drawn(sizes) });
    net = { sizes, theta: Float64Array.from(model.get("theta")), leak: 0 };
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
  function data(points) {
    figure.keep({ points });
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
    figure.keep({ probe: place.map((v) => Math.round(Math.max(-1, Math.min(1, v)) * 1000) / 1000) });
    draw();
  }
  function reset() {
    run.pause(true);
    figure.keep(structuredClone(start));
    load();
    draw();
  }

  const at = (s, p) => `${s.x(p[0]).toFixed(1)} ${s.y(p[1]).toFixed(1)}`;
  const outline = (s, r) => `M${r.corners.map((p) => at(s, p)).join("L")}Z`;
  /** A shade for a cell that stays with its pattern. */
  const shade = (on) => 0.45 + 0.55 * (((on.reduce((sum, k) => (sum * 31 + k * 17 + 7) % 997, 3) * 13) % 97) / 97);

  function draw() {
    if (!run.running() && net && String(model.get("theta")) !== String([...net.theta])) load();
    const wide = Math.min(figure.width, 520), s = (view = scales({ left: 4, top: 4, width: wide - 8, height: wide - 8 }, { x: [-EDGE, EDGE], y: [-EDGE, EDGE] }));
    put(plot, { viewBox: `0 0 ${wide} ${wide}`, height: wide, style: `width:${wide}px;max-width:100%;touch-action:pan-y` });
    all = regions(net, FRAME).slice(0, MOST);
    const here = String(pattern(net, model.get("probe")).flatMap((on, k) => (on ? [k] : []))), mine = all.find((r) => String(r.on) === here);
    const groups = new Map();
    for (const r of all) {
      const z = heights(r);
      for (const [side, sign] of [["b", 1], ["a", -1]]) {
        const corners = clip(r.corners, z.map((v) => sign * v)), key = `${side}${Math.round(shade(r.on) * 8)}`;
        if (corners.length > 2) groups.set(key, (groups.get(key) ?? "") + outline(s, { corners }));
      }
    }
    const dots = (label, d, color) => svg("path", { d: model.get("points").filter((p) => p[2] === label).map((p) => `M${s.x(p[0]).toFixed(1)} ${s.y(p[1]).toFixed(1)}${d}`).join("") || "M0 0", fill: `var(--${color})`, stroke: "var(--paper)", "stroke-width": 0.8 });
    back.replaceChildren(
      ...[...groups].map(([key, d]) => svg("path", { d, fill: `var(--tint-${key[0]})`, "fill-opacity": Number(key.slice(1)) / 8, stroke: "var(--soft)", "stroke-width": 0.5 })),
      ...(mine ? [svg("path", { d: outline(s, mine), fill: "none", stroke: "var(--pink)", "stroke-width": 2.5 })] : []),
      svg("path", { d: boundary(all).map(([p, q]) => `M${at(s, p)}L${at(s, q)}`).join("") || "M0 0", stroke: "var(--ink)", "stroke-width": 2.5, "stroke-linecap": "round", fill: "none" }),
      dots(0, "m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z", "blue"), dots(1, "m-3.2 -3.2h6.4v6.4h-6.4Z", "orange"),
    );
    probe.at(s.x(model.get("probe")[0]), s.y(model.get("probe")[1]), model.get("probe")[0], `at ${model.get("probe").map((v) => text(v)).join(", ")}: ${map()}`);
    figure.read(summary());
  }

  const map = () => {
    const [[a, b, c]] = affine(net, model.get("probe")), sign = (v) => (v < 0 ? "− " : "+ ") + text(Math.abs(v));
    return `f = ${text(a)} x₁ ${sign(b)} x₂ ${sign(c)}`;
  };
  function summary() {
    const loss = model.get("points").length ? `, loss ${text(trainer.loss(), 3)}` : "";
    return `2-${model.get("hidden").join("-")}-1: ${count(all.length, "linear piece")}${loss}${trainer.steps ? `, ${count(trainer.steps, "step")}` : ""}. At the diamond ${map()}.`;
  }
  function numbers() {
    let k = 0;
    const on = pattern(net, model.get("probe"));
    const row = (n, l) => html("tr", {}, html("th", { scope: "row" }, String(l + 1)), html("td", {}, on.slice(k, (k += n)).map((v) => (v ? "1" : "0")).join(" ")));
    return html("table", {}, html("caption", {}, `The diamond's cell: ${map()}`), html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "layer"), html("th", { scope: "col" }, "which neurons are on"))), html("tbody", {}, ...model.get("hidden").map(row)));
  }

  function paint(event) {
    const box = plot.getBoundingClientRect(), place = [view.ux(event.clientX - box.left), view.uy(event.clientY - box.top)].map((v) => Math.round(v * 1000) / 1000);
    if (Math.max(...place.map(Math.abs)) > EDGE) return;
    const points = model.get("points"), near = (p, r) => Math.hypot(p[0] - place[0], p[1] - place[1]) < r;
    if (mode === "erase") data(points.filter((p) => !near(p, 0.08)));
    else if (!points.some((p) => near(p, 0.05)) && points.length < 400) data([...points, [...place, +(mode === "square")]]);
  }
  put(plot, {
    onpointerdown: (event) => {
      if (event.button) return;
      painting = true;
      paint(event);
    },
    onpointermove: (event) => painting && event.pointerType === "mouse" && paint(event),
    onpointerup: () => {
      painting = false;
    },
    onpointerleave: () => {
      painting = false;
    },
  });
  load();
  draw();
  return figure.remove;
}

export default { title, defaults, render };
