/** The loss while one bend moves: a chain of parabolas that changes at the data points. */
import { network, parts } from "../core/net.js";
import { chain, slice, spline, value } from "../core/spline.js";
import { Trainer } from "../core/train.js";
import { axes, HEAD, path, scales } from "../ui/axes.js";
import { button, check, player } from "../ui/controls.js";
import { curve, widest } from "../ui/curve.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { shape } from "../ui/handle.js";
import { told } from "../ui/told.js";

const REACH = 3, WILD = 1e6;
const title = "Drag a bend past the data and watch the loss";

export const defaults = {
  points: [[-2.2, 0.4], [-1.2, -0.7], [-0.3, 0.3], [0.6, 1.1], [1.3, 0.2], [2.3, -0.6]],
  w: [1, 1, -1], b: [1.6, -0.1, -0.9], v: [0.9, -1.2, 0.8], offset: -0.3, chosen: 1, only: true,
};

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let trainer = null, done = 0, good = null, news = "", watch = null, guessed = false;
  const figure = frame(el, model, {
    name: "landscape", title, defaults, draw, reset, numbers,
    about: "Top: data, a network with three bends, one of them chosen. Below: the loss for every place that the chosen bend could have, all else left alone. "
      + "Between two data points it is a parabola; where the bend has no data on its switched-on side it is flat, and nothing pulls.",
    hints: ["[Tab] goes from point to point and to the bends", "[←] [→] move it", "[Shift] makes large steps", "[Delete] takes a point away"],
  });
  const plot = curve({
    figure, label: "The data, the curve and its bends", range: () => ({ x: [-REACH, REACH], y: [-2, 2] }),
    move: (i, x, y) => change({ points: model.get("points").map((p, k) => (k === i ? [x, y] : p)) }),
    moved: () => figure.say(summary()),
    remove: (i) => model.get("points").length > 2 && change({ points: model.get("points").filter((_, k) => k !== i) }),
    bend: (i, beta) => change({ chosen: i, b: model.get("b").map((b, k) => (k === i ? -model.get("w")[k] * beta : b)) }),
    bent: (i) => {
      change({ chosen: i });
      figure.say(summary());
    },
  });
  const below = svg("svg", { role: "img" });
  figure.picture.append(plot.element, below);
  const run = player({
    step: () => {
      trainer ??= make();
      const before = [...trainer.net.theta], loss = trainer.step();
      if (!(loss < WILD)) {
        trainer.net.theta.set(good ?? before); // the last one that can still be drawn
        news = "The steps are too long for these data: the loss explodes. ";
        return false;
      }
      good = before;
      done++;
      if (caught(before)) {
        news = "It is caught. ";
        return false;
      }
      if (trainer.net.theta.every((v, k) => Math.abs(v - before[k]) <= 1e-9)) {
        news = "It has come to rest. ";
        return false;
      }
      watch ??= { at: done, loss };
      if (done - watch.at < 1000) return true;
      const falls = watch.loss - loss > 1e-4 * loss;
      watch = { at: done, loss };
      if (!falls) news = "It has come to rest: a thousand steps no longer lower the loss. ";
      return falls;
    },
    draw: () => {
      if (trainer) {
        const { weights, biases } = parts(trainer.net);
        figure.keep({ w: weights[0].map((w) => w[0]), b: biases[0], v: weights[1][0], offset: biases[1][0] });
      }
      draw();
    },
    ended: () => figure.say(summary()), name: "Descend", perFrame: 3, most: 4000, stepSize: 10,
  });
  const only = check("move only the chosen bend", model.get("only"), (on) => change({ only: on }));
  figure.controls(html("div", { class: "row" }, run.element, only.element, button("Turn it around", () => {
    const i = model.get("chosen"), flip = (key) => model.get(key).map((v, k) => (k === i ? -v : v));
    change({ w: flip("w"), b: flip("b") });
    figure.say(summary());
  }), button("Add a point", () => {
    change({ points: [...model.get("points"), [widest(data().map((p) => p[0]), -REACH, REACH), 0]] });
    figure.say(summary());
  })));

  const data = () => [...model.get("points")].sort((a, b) => a[0] - b[0]);
  const f = () => spline(model.get("w"), model.get("b"), model.get("v"), model.get("offset"));

  function make() {
    const w = model.get("w"), h = w.length, i = model.get("chosen");
    const net = network([w.map((a) => [a]), [model.get("v")]], [model.get("b"), [model.get("offset")]]);
    const free = model.get("only") ? [...net.theta].map((_, k) => k === h + i) : undefined;
    return new Trainer(net, data().map((p) => p[0]), data().map((p) => p[1]), { loss: "half_sum", optimizer: "gd", rate: 0.01, free });
  }

  /**
   * Whether the bend, moved alone, went over a data point at which both neighbouring parabolas push it back: a longer or shorter step
   * would go there and back for ever, so it is put on the point.
   */
  function caught(before) {
    if (!model.get("only")) return false;
    const i = model.get("chosen"), h = model.get("w").length, { theta } = trainer.net, bend = (t) => -t[h + i] / t[i];
    const [low, high] = [bend(before), bend(theta)].sort((a, b) => a - b), over = data().filter(([x]) => x > low && x < high).map(([x]) => x).find(pit);
    if (over === undefined) return false;
    theta[h + i] = -theta[i] * over;
    return true;
  }
  /** Whether the loss along the chosen bend has its lowest place at a data point: it falls from the left and rises to the right. */
  function pit(x) {
    const all = cells(), left = all.find((c) => c.to === x), right = all.find((c) => c.from === x);
    return left.curvature * x + left.slope < 0 && right.curvature * x + right.slope > 0;
  }

  function change(changes) {
    run.pause(true);
    trainer = good = watch = null;
    done = 0;
    news = "";
    figure.keep(changes);
    draw();
  }

  function reset() {
    only.set(start.only);
    change(structuredClone(start));
  }

  const loss = (g) => data().reduce((sum, [x, y]) => sum + (value(g, x) - y) ** 2 / 2, 0);
  const at = (piece, beta) => (piece.curvature / 2) * beta * beta + piece.slope * beta + piece.constant;
  const cells = () => slice(f(), model.get("chosen"), data().map((p) => p[0]), data().map((p) => p[1]));

  /** From the lowest loss to what is met between the outer data points (and now), so that pits and valleys are deep enough to be seen. */
  function span(sampled) {
    const all = sampled.flat().map((p) => p[1]), inner = data().slice(1, -1).map(([x]) => x), low = Math.min(...all);
    const between = sampled.flat().filter(([x]) => x >= inner[0] && x <= inner.at(-1)).map((p) => p[1]);
    const high = Math.max(low + Math.max(0.1, 0.05 * low), loss(f()), ...(between.length ? between : all)), room = high - low;
    return [Math.max(0, low - 0.15 * room), high + 0.3 * room];
  }

  /** The path through the points up to a height, and no path where all are above it. */
  function within(s, points, high) {
    const cut = points.filter((p) => p[1] <= high);
    return cut.length > 1 ? path(s, cut) : "M0 0";
  }

  function draw() {
    const now = f(), i = model.get("chosen");
    plot.draw({
      tall: Math.max(190, Math.min(260, 0.38 * figure.width)), points: model.get("points"), lines: [{ points: chain(now, REACH), color: "blue" }],
      bends: now.hinges.map((h) => [h.beta, value(now, h.beta)]), chosen: i,
    });
    const wide = figure.width, tall = 194, all = cells(), sampled = all.map((c) => {
      const low = Math.max(-REACH, c.from), high = Math.min(REACH, c.to);
      return low < high ? Array.from({ length: 41 }, (_, k) => low + ((high - low) * k) / 40).map((b) => [b, at(c, b)]) : [];
    });
    const [low, high] = span(sampled), s = scales({ left: 40, top: HEAD, width: wide - 56, height: tall - HEAD - 36 }, { x: [-REACH, REACH], y: [low, high] });
    const beta = now.hinges[i].beta, here = Math.max(-REACH, Math.min(REACH, beta));
    put(below, { viewBox: `0 0 ${wide} ${tall}`, height: tall, "aria-label": `The loss as the chosen bend moves; now ${text(loss(now), 3)}` });
    below.replaceChildren(
      axes(s, { xName: "place of the chosen bend", yName: "loss" }),
      svg("path", { d: data().map(([x]) => `M${s.x(x)} ${s.y(low)}V${s.y(high)}`).join("") || "M0 0", stroke: "var(--soft)", "stroke-dasharray": "2 3", fill: "none" }),
      ...sampled.map((points, k) => points.length && svg("path", { d: within(s, points, high), fill: "none", stroke: `var(--${all[k].curvature > 0 ? (k % 2 ? "blue" : "pink") : "soft"})`, "stroke-width": all[k].curvature > 0 ? 2.5 : 4 })).filter(Boolean),
      svg("circle", { cx: s.x(here), cy: s.y(loss(now)), r: 7, fill: "var(--orange)", stroke: "var(--paper)", "stroke-width": 1.5 }),
      ...(guessed ? [svg("path", { d: shape("diamond", 6), transform: `translate(${s.x(lowest()[0]).toFixed(1)} ${s.y(lowest()[1]).toFixed(1)})`, fill: "var(--green)", stroke: "var(--paper)" })] : []),
    );
    figure.read(summary());
  }
  /** The place in the picture with the smallest loss of all, and that loss. */
  const lowest = () => cells().flatMap((c) => {
    const [low, high] = [Math.max(-REACH, c.from), Math.min(REACH, c.to)];
    return low < high ? [low, high, ...(c.curvature > 0 ? [Math.max(low, Math.min(high, -c.slope / c.curvature))] : [])].map((beta) => [beta, at(c, beta)]) : [];
  }).reduce((best, one) => (one[1] < best[1] - 1e-12 ? one : best));

  function summary() {
    const beta = f().hinges[model.get("chosen")].beta, cell = cells().find((c) => beta <= c.to), low = -cell.slope / cell.curvature;
    const inside = low > cell.from && low < cell.to, on = data().some(([x]) => Math.abs(x - beta) < 1e-9 && pit(x));
    const words = on ? "It stands on a data point, and the parabolas on both sides push it back there." : !cell.curvature ? "No data on its switched-on side: flat, nothing pulls." : inside ? `This parabola has its lowest place at ${text(low)}, in this gap.` : `The lowest place of this parabola, ${text(low)}, is beyond the gap: the bend is pushed to the ${low > beta ? "right" : "left"}.`;
    return `${news}Bend at ${text(beta)}, loss ${text(loss(f()), 3)}${done ? `, ${count(done, "step")}` : ""}. ${words}${guessed ? ` The lowest place of all, the green diamond, is at ${text(lowest()[0])}, loss ${text(lowest()[1], 3)}.` : ""}`;
  }

  function numbers() {
    const row = (c) => html("tr", {}, ...[c.from, c.to, c.curvature, c.curvature ? -c.slope / c.curvature : NaN, c.curvature ? at(c, -c.slope / c.curvature) : c.constant].map((v) => html("td", {}, text(v, 3))));
    const head = ["from", "to", "curvature", "lowest at", "its value"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, "The parabola of each gap"), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...cells().map(row)));
  }

  draw();
  const forget = told(el, () => {
    guessed = true;
    draw();
  });
  return () => {
    forget();
    figure.remove();
  };
}

export default { title, defaults, render };
