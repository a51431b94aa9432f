/** XOR on a line and two neurons: every start ends at one of three losses. */
import { network, parts } from "../core/net.js";
import { Random } from "../core/random.js";
import { chain, spline, value } from "../core/spline.js";
import { Trainer } from "../core/train.js";
import { axes, scales } from "../ui/axes.js";
import { button, player } from "../ui/controls.js";
import { curve } from "../ui/curve.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";

const REACH = 2, X = [-1, 0, 0, 1], Y = [-1, 1, 1, -1], STARTS = 200, STEPS = 4000, RATE = 0.01;
const LEVELS = { 0: "0", 1: "8/3", 2: "4" }, LOSSES = [0, 8 / 3, 4];
const title = "Where does training of XOR end?";

export const defaults = { w: [0.8, -0.6], b: [0.7, 0.3], o: [-0.5, 0.4], c: 0.1, seed: 1 };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let trainer = null, random = new Random(model.get("seed")), ends = [], many = null;
  const figure = frame(el, model, {
    name: "optima", title, defaults, draw, reset, numbers,
    about: "Two neurons are to pass through (−1, −1), (0, 1) twice and (1, −1): XOR, put on a line. Drag the two bends, train, or drop 200 random starts "
      + "and see at which loss each ends.",
    hints: ["[Tab] goes from bend to bend", "[←] [→] move it", "[Shift] makes large steps"],
  });
  const plot = curve({
    figure, label: "The data, the curve and its bends", range: () => ({ x: [-REACH, REACH], y: [-2.2, 2.2] }),
    bend: (i, beta) => change({ b: model.get("b").map((b, k) => (k === i ? -model.get("w")[k] * beta : b)) }),
    bent: () => figure.say(summary()),
  });
  const below = svg("svg", { role: "img" });
  figure.picture.append(plot.element, below);
  const run = player({
    step: () => {
      trainer ??= make(model.get("w"), model.get("b"), model.get("o"), model.get("c"));
      const before = [...trainer.net.theta];
      trainer.step();
      return trainer.net.theta.some((v, k) => Math.abs(v - before[k]) > 1e-10);
    },
    draw: () => {
      if (trainer) {
        const { weights, biases } = parts(trainer.net);
        figure.keep({ w: weights[0].map((w) => w[0]), b: biases[0], o: weights[1][0], c: biases[1][0] });
      }
      draw();
    },
    ended: (why) => figure.say((why === "done" ? "It has come to rest. " : "") + summary()), perFrame: 12, most: 20000, stepSize: 10,
  });
  const drop = player({
    step: () => {
      many ??= { left: STARTS, now: null };
      if (!many.now) {
        many.left--;
        many.now = make(...draws());
      }
      for (let k = 0; k < 200; k++) many.now.step();
      if (many.now.steps >= STEPS) {
        ends.push(2 * many.now.loss()); // the sum of squares, not half of it
        many.now = null;
      }
      if (many.left || many.now) return true;
      many = null;
      return false;
    },
    draw, ended: () => figure.say(tally()), name: `Drop ${STARTS} starts`, perFrame: 40, most: 1e6, stepSize: STEPS / 200,
  });
  drop.one.remove();
  put(drop.play, { class: null });
  figure.controls.append(html("div", { class: "row" }, run.element, button("Another start", () => {
    const [w, b, o, c] = draws();
    change({ w, b, o, c, seed: random.bits() });
    figure.say(summary());
  }), drop.element));

  /** torch's default: uniform on ±1/sqrt(fan-in), biases too. */
  function draws() {
    const two = (reach) => [0, 1].map(() => random.uniform(-reach, reach)), root = Math.SQRT1_2;
    return [two(1), two(1), two(root), random.uniform(-root, root)];
  }
  const make = (w, b, o, c) => new Trainer(network([w.map((a) => [a]), [o]], [b, [c]]), X, Y, { loss: "half_sum", optimizer: "gd", rate: RATE });
  const f = () => spline(model.get("w"), model.get("b"), model.get("o"), model.get("c"));
  const loss = () => X.reduce((sum, x, p) => sum + (value(f(), x) - Y[p]) ** 2, 0);

  function change(changes) {
    run.pause(true);
    trainer = null;
    figure.keep(changes);
    draw();
  }
  function reset() {
    drop.pause(true);
    many = null;
    ends = [];
    random = new Random(start.seed);
    change(structuredClone(start));
  }

  function draw() {
    const now = f();
    plot.draw({
      tall: Math.max(190, Math.min(260, 0.38 * figure.width)), points: X.map((x, p) => [x, Y[p]]), lines: [{ points: chain(now, REACH), color: "blue" }],
      bends: now.hinges.map((h) => [h.beta, value(now, h.beta)]),
    });
    const wide = figure.width, tall = 120, s = scales({ left: 40, top: 8, width: wide - 56, height: tall - 44 }, { x: [0, 5], y: [0, 1] });
    const columns = {}, dots = ends.map((e) => {
      const k = Math.round(Math.min(e, 5) * 12), level = (columns[k] = (columns[k] ?? 0) + 1);
      return [k / 12, level];
    });
    const most = Math.max(20, ...Object.values(columns)), unit = (tall - 44) / most;
    put(below, { viewBox: `0 0 ${wide} ${tall}`, height: tall, "aria-label": `The losses at which the starts ended. ${tally()}` });
    below.replaceChildren(
      axes(s, { yTicks: false, xName: "loss at the end, summed over the four points" }),
      ends.length ? svg("path", { d: LOSSES.map((l) => `M${s.x(l)} ${s.y(0)}V${s.y(1)}`).join(""), stroke: "var(--soft)", "stroke-dasharray": "3 3", fill: "none" }) : "", // the answer comes after the guess
      svg("path", { d: dots.map(([x, level]) => `M${s.x(x).toFixed(1)} ${(s.y(0) - (level - 0.5) * unit).toFixed(1)}h0`).join("") || "M0 0", stroke: "var(--blue)", "stroke-width": Math.max(2, Math.min(7, unit)), "stroke-linecap": "round", fill: "none" }),
      ends.length ? svg("text", { x: s.x(8 / 3) + 5, y: 18, class: "soft" }, "8/3") : "",
      svg("circle", { cx: s.x(Math.min(5, loss())), cy: s.y(0), r: 6, fill: "var(--orange)", stroke: "var(--paper)" }),
    );
    figure.read(summary(), ends.length ? ` ${tally()}` : "");
  }

  const level = (e) => LOSSES.findIndex((l) => Math.abs(l - e) < 0.01);
  function tally() {
    if (!ends.length) return "No start has been dropped yet.";
    const found = Object.keys(LEVELS).map((k) => `${ends.filter((e) => level(e) === Number(k)).length} at ${LEVELS[k]}`), rest = ends.filter((e) => level(e) < 0).length;
    return `${count(ends.length, "start")}: ${found.join(", ")}${rest ? `, ${rest} still on the way` : ""}.`;
  }
  const summary = () => `Loss ${text(loss(), 3)}, bends at ${f().hinges.map((h) => text(Math.round(1e4 * h.beta) / 1e4)).join(" and ")}${trainer ? `, ${count(trainer.steps, "step")}` : ""}.`;

  function numbers() {
    const row = (i) => html("tr", {}, html("th", { scope: "row" }, String(i + 1)), ...["w", "b", "o"].map((key) => html("td", {}, text(model.get(key)[i], 4))));
    const head = ["neuron", "w", "b", "o"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, `f(x) = sum of o · max(wx + b, 0) + c, with c = ${text(model.get("c"), 4)}`), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, row(0), row(1)));
  }

  draw();
  return figure.remove;
}

export default { title, defaults, render };
