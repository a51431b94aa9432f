/** Training on a line: where the bends go, and where they stop. */
import { deep, relocate, seen, shallow, velocity } from "../core/dynamics.js";
import { Random } from "../core/random.js";
import { chain, spline, value } from "../core/spline.js";
import { Trainer } from "../core/train.js";
import { axes, HEAD, path, scales, ticks } from "../ui/axes.js";
import { button, menu, player, slider } from "../ui/controls.js";
import { curve, number, rows, widest } from "../ui/curve.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";

const REACH = 3.2, WILD = 1e6, MANY = 20, KEPT = 400, CALM = 2000, COLORS = ["orange", "blue", "green", "pink", "gold"], DASHES = [null, "7 4", "2 4", "9 3 2 3"];
const RATES = [2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2];
const TARGETS = {
  sine: ["a sine", (x) => Math.sin(2 * x)],
  bump: ["a bump", (x) => Math.exp(-4 * (x - 1) ** 2)],
  parabola: ["a parabola", (x) => (x * x) / 4 - 1],
  step: ["a step", (x) => (x < 0 ? -1 : 1)],
};
const STARTS = { torch: "torch's: near the middle", even: "bends spread evenly" };
const title = "Where do the bends go while a network is trained?";

const round = (v) => Math.round(v * 100) / 100, color = (i) => COLORS[i % COLORS.length];
const sample = (f) => Array.from({ length: MANY }, (_, i) => round(-3 + (6 * i) / (MANY - 1))).map((x) => [x, round(f(x))]);

export const defaults = {
  points: sample(TARGETS.sine[1]), data: "sine", start: "torch", rate: 1e-3, seed: 1,
  w: [0.6, -0.9, 0.4, 0.8, -0.5, 0.3], b: [0.5, 0.4, -0.6, -0.2, 0.7, 0.1], v: [0.3, -0.2, 0.1, -0.3, 0.2, 0.3], offset: 0.1,
};

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let trainer = null, random = new Random(model.get("seed")), trail = [], good = null, steps = 0, every = 1, news = "", watch = null;
  const figure = frame(el, model, {
    name: "dynamics", title, defaults, draw, reset, numbers,
    about: "Top: data, and a network with a numbered dot at each bend, a triangle where the bend is off the page. An arrow in its colour at the foot says where training pushes it now. "
      + "Below: where each bend has been, time running down. A grey bend is switched on at no data point, and nothing moves it.",
    hints: ["[Tab] goes from point to point and to the bends", "[←] [→] [↑] [↓] move it", "[Shift] makes large steps", "[Delete] takes a point away"],
  });
  const plot = curve({
    figure, label: "The data, the curve and its bends", numbered: true, range: () => ({ x: [-REACH, REACH], y: [-2, 2] }),
    move: (i, x, y) => place(model.get("points").map((p, k) => (k === i ? [x, y] : p))),
    moved: () => figure.say(summary()),
    remove: (i) => place(model.get("points").filter((_, k) => k !== i)),
    bend: (i, beta) => change({ b: model.get("b").map((b, k) => (k === i ? -model.get("w")[k] * beta : b)) }),
    bent: () => figure.say(summary()),
  });
  const below = svg("svg", { role: "img" });
  figure.picture.append(plot.element, below);
  const run = player({
    step: () => {
      trainer ??= new Trainer(deep(f()), xs(), ys(), { loss: "half_sum", optimizer: "gd", rate: model.get("rate") });
      news = "";
      const before = [...trainer.net.theta], loss = trainer.step(), after = shallow(trainer.net);
      if (!(loss < WILD)) {
        trainer.net.theta.set(good ?? before); // the last one that can still be drawn
        news = "The steps are too long: the loss explodes. Choose a shorter step and start again. ";
        return false;
      }
      good = before;
      remember(after);
      watch ??= { at: steps, loss };
      if (steps - watch.at < CALM) return true;
      const falls = watch.loss - loss > 1e-3 * loss;
      watch = { at: steps, loss };
      if (!falls) news = `It has come to rest: the last ${CALM.toLocaleString("en-US")} steps took less than a thousandth off the loss. `;
      return falls;
    },
    draw: () => {
      if (trainer) figure.keep(shallow(trainer.net));
      draw();
    },
    ended: () => figure.say(summary()), perFrame: 40, most: 60000, stepSize: 100,
  });
  const width = slider("neurons", [1, 2, 3, 4, 6, 8, 12, 20], model.get("w").length, (n) => n === model.get("w").length || fresh(n));
  const rate = slider("step size", RATES, model.get("rate"), (r) => {
    figure.keep({ rate: r });
    news = "";
    watch = null;
    if (trainer) trainer.rate = r;
    draw();
  });
  const begin = menu("start", STARTS, model.get("start"), (kind) => {
    figure.keep({ start: kind });
    fresh();
  });
  const data = menu("data", { ...Object.fromEntries(Object.entries(TARGETS).map(([key, [words]]) => [key, words])), own: "as they stand" }, model.get("data"), (kind) => {
    figure.keep({ data: kind });
    if (kind !== "own") place(sample(TARGETS[kind][1]), kind);
  });
  figure.controls(
    html("div", { class: "row" }, run.element, button("Another start", () => fresh()), button("Move a useless bend", jump), button("Add a point", add)),
    html("div", { class: "row" }, width.element, rate.element, begin.element, data.element),
  );

  /** @returns {import("../core/dynamics.js").Shallow} */
  const f = () => /** @type {any} */ (Object.fromEntries(["w", "b", "v", "offset"].map((key) => [key, model.get(key)])));
  const xs = () => model.get("points").map((p) => p[0]), ys = () => model.get("points").map((p) => p[1]);
  const hinged = () => spline(model.get("w"), model.get("b"), model.get("v"), model.get("offset"));
  const bends = ({ w, b }) => w.map((a, i) => -b[i] / a);

  /** Keep where the bends are; when there is too much of it, every other moment is dropped. */
  function remember(now) {
    steps++;
    if (steps % every) return;
    trail.push([steps, bends(now)]);
    if (trail.length > KEPT) {
      trail = trail.filter((_, k) => k % 2 === 0);
      every *= 2;
    }
  }
  function forget() {
    run.pause(true);
    trainer = good = watch = null;
    steps = 0;
    every = 1;
    trail = [[0, bends(f())]];
    news = "";
  }

  function change(changes) {
    run.pause(true);
    figure.keep(changes);
    forget();
    draw();
  }
  /** Other data: the network stays, its training goes on from here. */
  function place(points, kind = "own") {
    figure.keep({ points, data: kind });
    data.set(kind);
    watch = null;
    if (trainer) Object.assign(trainer, { x: xs(), y: ys() });
    draw();
  }
  function add() {
    place([...model.get("points"), [widest(xs(), -REACH, REACH), 0]]);
    figure.say(summary());
  }
  function fresh(n = model.get("w").length) {
    const many = (reach, k = n) => Array.from({ length: k }, () => random.uniform(-reach, reach)), root = 1 / Math.sqrt(n), w = many(1);
    const b = model.get("start") === "even" ? many(3).map((beta, i) => -w[i] * beta) : many(1);
    change({ w, b, v: many(root), offset: many(root, 1)[0], seed: random.bits() });
    random = new Random(model.get("seed"));
    figure.say(summary());
  }
  function jump() {
    run.pause(true);
    const better = relocate(f(), xs(), ys());
    if (better) {
      const from = hinged().hinges[better.moved].beta;
      figure.keep(better.f);
      trainer = null;
      if (steps) trail.push([steps, bends(f())]);
      else forget();
      news = `Bend ${better.moved + 1} jumped from ${text(from)} to ${text(bends(f())[better.moved])}. `;
    } else news = "No bend can be spared for a better place. ";
    draw();
    figure.say(summary());
  }
  function reset() {
    random = new Random(start.seed);
    change(structuredClone(start));
    width.set(start.w.length);
    rate.set(start.rate);
    begin.set(start.start);
    data.set(start.data);
  }

  const loss = () => model.get("points").reduce((sum, [x, y]) => sum + (value(hinged(), x) - y) ** 2 / 2, 0);
  const idle = () => seen(f(), xs()).flatMap((n, i) => (n ? [] : [i]));

  function draw() {
    const now = hinged(), speeds = velocity(f(), xs(), ys());
    const arrows = now.hinges.flatMap((h, i) => (Math.abs(h.beta) < REACH && Number.isFinite(speeds[i].beta) ? [/** @type {[number, number, string]} */ ([h.beta, h.beta + 0.6 * Math.tanh(speeds[i].beta), color(i)])] : []));
    plot.draw({
      tall: Math.max(200, Math.min(270, 0.38 * figure.width)), points: model.get("points"), lines: [{ points: chain(now, REACH), color: "ink" }],
      colors: now.hinges.map((_, i) => color(i)), bends: now.hinges.map((h) => [h.beta, Number.isFinite(h.beta) ? value(now, h.beta) : 0]), arrows, dull: idle(),
    });
    // time by its square root: most of the way is made in the first steps
    const wide = figure.width, tall = 214, long = Math.sqrt(Math.max(100, steps * 1.02)), marks = ticks(0, long * long, 4).at.filter((t) => t > 0);
    const s = scales({ left: 40, top: HEAD, width: wide - 56, height: tall - HEAD - 36 }, { x: [-REACH, REACH], y: [long, 0] });
    put(below, { viewBox: `0 0 ${wide} ${tall}`, height: tall, "aria-label": `The way of the bends, time running down: ${ways()}` });
    const inside = s.box, way = (i) => {
      const points = trail.map(([t, all]) => [all[i], Math.sqrt(t)]).filter(([x]) => Math.abs(x) < 50);
      return points.length > 1 ? path(s, points) : "M0 0";
    };
    below.replaceChildren(
      axes(s, { xName: "place of the bend", yName: "step", yTicks: false }),
      svg("g", { "aria-hidden": "true" }, ...marks.flatMap((t) => [
        svg("path", { d: `M${inside.left} ${s.y(Math.sqrt(t))}h${inside.width}`, stroke: "var(--grid)" }),
        svg("text", { x: inside.left - 6, y: s.y(Math.sqrt(t)) + 4, "text-anchor": "end", class: "soft" }, t >= 1e4 ? `${t / 1000}k` : String(t)),
      ])),
      svg("path", { d: xs().map((x) => `M${s.x(x).toFixed(1)} ${s.box.top}v5`).join("") || "M0 0", stroke: "var(--soft)", fill: "none" }),
      svg("svg", { x: inside.left, y: inside.top, width: inside.width, height: inside.height, overflow: "hidden" },
        svg("g", { transform: `translate(${-inside.left} ${-inside.top})` }, ...now.hinges.map((_, i) => svg("path", { d: way(i), fill: "none", stroke: `var(--${color(i)})`, "stroke-width": 2, "stroke-dasharray": DASHES[Math.floor(i / COLORS.length) % DASHES.length] })))),
      ...ends(s, now.hinges.map((h) => h.beta)),
    );
    figure.read(summary());
  }

  /** At the end of its path each bend has its number; where two would lie on each other, one stands above the other. */
  function ends(s, betas) {
    const seen = betas.flatMap((beta, i) => (Math.abs(beta) < REACH ? [i] : [])), row = rows(seen.map((i) => [s.x(betas[i]) - 7, s.x(betas[i]) + 7]), 1);
    const { top, height } = s.box, dull = idle();
    return seen.map((i, k) => {
      const y = steps ? top + height - 8 - 15 * row[k] : top + 8 + 15 * row[k];
      return svg("g", { class: "end", transform: `translate(${s.x(betas[i]).toFixed(1)} ${y})` }, svg("circle", { r: 7, fill: `var(--${dull.includes(i) ? "soft" : color(i)})` }), number(i));
    });
  }
  function ways() {
    const first = trail[0]?.[1] ?? [], now = bends(f());
    return now.map((b, i) => (Math.abs(b - first[i]) < 0.005 ? `bend ${i + 1} stays at ${text(b)}` : `bend ${i + 1} from ${text(first[i])} to ${text(b)}`)).join(", ");
  }
  function summary() {
    const all = bends(f()), x = xs(), low = Math.min(...x), high = Math.max(...x), among = all.filter((b) => b > low && b < high).length, dead = idle().length;
    if (!x.length) return `${news}No data: nothing pulls.`;
    return `${news}${count(steps, "step")}, loss ${text(loss(), 3)}. ${among} of ${count(all.length, "bend")} among the data${dead ? `, ${dead} switched on at no point` : ""}.`;
  }

  function numbers() {
    const speeds = velocity(f(), xs(), ys()), on = seen(f(), xs());
    const row = (h, i) => html("tr", {}, html("th", { scope: "row" }, String(i + 1)), ...[h.beta, speeds[i].beta, h.mu, speeds[i].mu].map((v) => html("td", {}, text(v, 3))), html("td", {}, String(on[i])));
    const head = ["neuron", "bends at β", "speed of β", "by μ", "speed of μ", "points it sees"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, "The bends, and gradient flow's laws of motion"), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...hinged().hinges.map(row)));
  }

  forget();
  draw();
  return figure.remove;
}

export default { title, defaults, render };
