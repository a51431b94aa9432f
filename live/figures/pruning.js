/** Six neurons that know parity, and every three of them: which triples learn it again? */
import { corners } from "../core/cube.js";
import { network, outputs, parts } from "../core/net.js";
import { Random } from "../core/random.js";
import { Trainer } from "../core/train.js";
import { scales } from "../ui/axes.js";
import { button, menu, player } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { shape } from "../ui/handle.js";

const X = corners(4).flat(), ONES = corners(4).map((c) => c.filter((v) => v > 0).length), ODD = ONES.map((k) => k % 2);
const PLACES = ONES.map((k, i) => { // corners with as many ones stand side by side
  const row = ONES.flatMap((other, j) => (other === k ? [j] : []));
  return k + (row.length > 1 ? (row.indexOf(i) / (row.length - 1) - 0.5) * 0.56 : 0);
});
const EPOCHS = 4000, RATE = 0.025, ENOUGH = 0.01; // as in the large run; a loss that leaves no corner wrong
const BEGIN = { learned: "what they learned", first: "what they were dealt", fresh: "fresh random weights" };
const TRIPLES = [...Array(64).keys()].map((bits) => [0, 1, 2, 3, 4, 5].filter((i) => (bits >> (5 - i)) & 1)).filter((some) => some.length === 3).reverse();
const title = "Do three of six neurons learn it again?";

/** `learned` and `first`: weights and biases of the six after training and before; `tally`: 1 for each ticket that won, 0 for one that did not. */
export const defaults = {
  learned: /** @type {any[]} */ ([]), first: /** @type {any[]} */ ([]), keep: [0, 1, 2], begin: "learned", seed: 1, steps: 0,
  tally: { learned: /** @type {number[]} */ ([]), first: /** @type {number[]} */ ([]), fresh: /** @type {number[]} */ ([]) },
};

function render({ model, el }) {
  const start = structuredClone(Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)])));
  let six = [model.get("learned"), model.get("first")], now = ticket(), trainer = null, queue = [], ended = false;
  const figure = frame(el, model, {
    name: "pruning", title, defaults, draw, reset, numbers,
    about: "Left, what each of six neurons adds at the sixteen inputs, from left to right by their number of ones; squares are odd. Together the six know parity. "
      + "Right, what the ticked three say: above the line odd, below it even, and a cross where they are wrong. Below, a box for every three that were tried; it is filled if they learned it.",
    hints: ["[Tab] goes from neuron to neuron", "[Space] ticks it"],
  });
  const picture = svg("svg"), picks = TRIPLES[0].concat(3, 4, 5).map(pick), answers = svg("g", { role: "img" }), rows = svg("g", { role: "img" });
  picture.append(...picks, answers, rows);
  figure.picture.append(picture);
  const train = player({ step: () => one(), draw: keep, ended: () => figure.say(summary()), name: "Train these three", perFrame: 60, most: EPOCHS, stepSize: 100 });
  const all = player({ step: every, draw: keep, ended: () => figure.say(tallied()), name: "All twenty", perFrame: 400, most: 20 * EPOCHS });
  all.one.remove();
  put(all.play, { class: null });
  const kind = menu("begin with", BEGIN, model.get("begin"), (value) => begin({ begin: value }));
  figure.controls(
    html("div", { class: "row" }, train.element, all.element),
    html("div", { class: "row" }, kind.element, button("Another six neurons", another)),
  );

  /** The three that are asked for, as a network that nothing has trained yet. */
  function ticket() {
    if (model.get("begin") === "fresh") return drawn(3, new Random(model.get("seed")));
    const [weights, biases] = six[model.get("begin") === "first" ? 1 : 0], keep = model.get("keep");
    return network([keep.map((i) => weights[0][i]), [keep.map((i) => weights[1][0][i])]], [keep.map((i) => biases[0][i]), biases[1]]);
  }
  /** Neurons as the large run draws them: normal weights, uniform biases. */
  function drawn(width, random) {
    const normal = (rows, columns) => Array.from({ length: rows }, () => Array.from({ length: columns }, () => Math.sqrt(2 / columns) * random.normal()));
    const uniform = (size, fan) => Array.from({ length: size }, () => random.uniform(-1, 1) / Math.sqrt(fan));
    return network([normal(width, 4), normal(1, width)], [uniform(width, 4), uniform(1, width)]);
  }
  const teach = (net) => new Trainer(net, X, ODD, { loss: "bce", optimizer: "adam", rate: RATE });
  const right = (net) => [...outputs(net, X)].map((z, k) => z > 0 === ODD[k] > 0);
  const knows = (net) => right(net).every(Boolean);

  /** One step of the triple on show; whether there is more to do. */
  function one() {
    if (ended) begin({});
    trainer ??= teach(now);
    ended = trainer.step() <= ENOUGH || trainer.steps >= EPOCHS;
    if (!ended) return true;
    const tally = structuredClone(model.get("tally"));
    tally[model.get("begin")].push(+knows(now));
    figure.keep({ tally });
    return false;
  }
  /** One step of all twenty, one after the other. */
  function every() {
    if (!queue.length) {
      queue = [...TRIPLES];
      begin({ keep: queue[0] });
    }
    if (one()) return true;
    queue.shift();
    if (queue.length) begin({ keep: queue[0] });
    return queue.length > 0;
  }
  /** Begin anew with some choice, untrained. */
  function begin(changes) {
    figure.keep({ seed: new Random(model.get("seed")).bits(), ...changes, steps: 0 });
    load();
    if (!all.running()) queue = [];
    draw();
  }
  /** The triple on show after as many steps as the state says. */
  function load() {
    now = ticket();
    trainer = model.get("steps") ? teach(now) : null;
    ended = false;
    while (trainer && !ended && trainer.steps < model.get("steps")) ended = trainer.step() <= ENOUGH || trainer.steps >= EPOCHS;
  }
  function keep() {
    figure.keep({ steps: trainer?.steps ?? 0 });
    draw();
  }
  /** Six others, drawn and trained until some know parity. */
  function another() {
    for (const random = new Random(model.get("seed"));;) {
      const net = drawn(6, random), before = parts(net), work = teach(net);
      while (work.steps < EPOCHS && work.step() > ENOUGH);
      if (!knows(net)) continue;
      const after = parts(net), short = (list) => JSON.parse(JSON.stringify(list, (_, v) => (typeof v === "number" ? Number(v.toFixed(5)) : v)));
      six = [short([after.weights, after.biases]), short([before.weights, before.biases])];
      begin({ learned: six[0], first: six[1], seed: random.bits() });
      figure.say("Six other neurons, which have learned parity.");
      return;
    }
  }
  function reset() {
    train.pause(true);
    all.pause(true);
    six = [start.learned, start.first];
    kind.set(start.begin);
    figure.keep(structuredClone(start));
    load();
    draw();
  }

  function pick(i) {
    const toggle = () => {
      const keep = model.get("keep");
      if (keep.includes(i)) return;
      begin({ keep: [...keep.slice(1), i].sort((a, b) => a - b) }); // the one that leaves is the first of the three
      figure.say(summary());
    };
    return svg("g", {
      class: "pick", role: "checkbox", tabindex: 0, onclick: toggle,
      onkeydown: (event) => {
        if (event.key !== " " && event.key !== "Enter") return;
        event.preventDefault();
        toggle();
      },
    }, svg("rect", { class: "halo", rx: 4 }), svg("g", { "aria-hidden": "true" }));
  }

  function draw() {
    const wide = figure.width, beside = wide >= 540, left = beside ? 0.52 * wide : wide, cell = left / 3, high = beside ? 128 : 104;
    const top = beside ? 0 : 2 * high + 14, box = { left: beside ? left + 50 : 40, top: top + 24, width: beside ? wide - left - 60 : wide - 50, height: beside ? 2 * high - 62 : 170 };
    const bottom = Math.max(2 * high, box.top + box.height + 38) + 8, fresh = model.get("begin") === "fresh";
    const [weights, biases] = six[model.get("begin") === "first" ? 1 : 0];
    put(picture, { viewBox: `0 0 ${wide} ${bottom + 78}`, height: bottom + 78 });
    picks.forEach((group, i) => {
      const on = model.get("keep").includes(i) && !fresh, out = weights[1][0][i];
      const adds = corners(4).map((c) => out * Math.max(0, biases[0][i] + c.reduce((sum, v, j) => sum + v * weights[0][i][j], 0)));
      const most = Math.max(1, ...adds.map(Math.abs)), s = scales({ left: 10, top: 24, width: cell - 20, height: high - 46 }, { x: [-0.4, 4.4], y: [-most, most] });
      put(group, { transform: `translate(${(i % 3) * cell} ${Math.floor(i / 3) * high})`, "aria-checked": String(on), "aria-label": `neuron ${i + 1}`, opacity: fresh ? 0.35 : 1 });
      put(group.firstChild, { x: 2, y: 2, width: cell - 4, height: high - 4, style: on ? "fill:var(--fill);stroke:var(--blue);stroke-width:2" : "fill:transparent;stroke:var(--line)" });
      group.lastChild.replaceChildren(
        svg("text", { x: 10, y: 18 }, `${on ? "☑" : "☐"} ${i + 1}`),
        svg("path", { d: `M${s.x(-0.4)} ${s.y(0)}H${s.x(4.4)}`, stroke: "var(--soft)", "stroke-width": 1 }),
        ...[0, 4].map((k) => svg("text", { x: s.x(k), y: high - 6, "text-anchor": "middle", class: "soft" }, String(k))),
        ...adds.map((v, k) => dot(s.x(PLACES[k]), s.y(v), ODD[k], 3)),
      );
    });
    said(box);
    score(wide, bottom);
    figure.read(summary());
  }
  const dot = (x, y, odd, size) => svg("path", { d: shape(odd ? "square" : "dot", size), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, fill: `var(--${odd ? "orange" : "blue"})` });

  /** What the three say at the sixteen inputs. */
  function said(box) {
    const s = scales(box, { x: [-0.5, 4.5], y: [-0.04, 1.04] }), good = right(now), z = outputs(now, X);
    put(answers, { "aria-label": `The three are right at ${good.filter(Boolean).length} of 16 inputs` });
    answers.replaceChildren(
      svg("text", { x: box.left - 8, y: s.y(1) + 5, "text-anchor": "end" }, "odd"),
      svg("text", { x: box.left - 8, y: s.y(0) + 5, "text-anchor": "end" }, "even"),
      svg("text", { x: box.left + box.width, y: box.top + box.height + 35, "text-anchor": "end", class: "soft" }, "ones among the four bits"),
      svg("path", { d: `M${box.left} ${s.y(0.5)}h${box.width}`, stroke: "var(--soft)", "stroke-dasharray": "5 4" }),
      ...[0, 1, 2, 3, 4].map((k) => svg("text", { x: s.x(k), y: box.top + box.height + 17, "text-anchor": "middle" }, String(k))),
      ...good.flatMap((ok, k) => {
        const x = s.x(PLACES[k]), y = s.y(1 / (1 + Math.exp(-z[k])));
        const cross = svg("path", { d: shape("cross", 10), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, stroke: "var(--ink)", "stroke-width": 2.5, fill: "none" });
        return [...(ok ? [] : [cross]), dot(x, y, ODD[k], 5)];
      }),
    );
  }
  /** The tally: a square for each ticket that was tried, filled for one that won. */
  function score(wide, top) {
    const tally = model.get("tally"), from = 170, room = Math.max(1, Math.floor((wide - from - 64) / 9));
    put(rows, { "aria-label": tallied() });
    rows.replaceChildren(...Object.entries(BEGIN).flatMap(([key, words], i) => {
      const y = top + 16 + 24 * i, tried = tally[key], won = tried.filter(Boolean).length;
      return [
        svg("text", { x: 0, y }, words),
        ...tried.slice(-room).map((win, k) => svg("rect", { x: from + 9 * k, y: y - 10, width: 7, height: win ? 11 : 7, fill: win ? "var(--green)" : "none", stroke: win ? "var(--green)" : "var(--soft)" })),
        svg("text", { x: wide, y, "text-anchor": "end", class: "soft" }, tried.length ? `${won} of ${tried.length}` : "not tried"),
      ];
    }));
  }
  const tallied = () => Object.entries(BEGIN).map(([key, words]) => `${words}: ${model.get("tally")[key].filter(Boolean).length} of ${model.get("tally")[key].length} won`).join(", ");
  function summary() {
    const good = right(now).filter(Boolean).length, who = model.get("begin") === "fresh" ? "Three fresh neurons" : `Neurons ${model.get("keep").map((i) => i + 1).join(", ")} with ${BEGIN[model.get("begin")]}`;
    const when = trainer ? ` after ${count(trainer.steps, "pass", "passes")}` : "", end = !ended ? "" : good === 16 ? " They win." : " They do not make it.";
    return `${who}: right at ${good} of 16 inputs${when}.${end}`;
  }
  function numbers() {
    const { weights, biases } = parts(now);
    return html("table", {}, html("caption", {}, "The three neurons now"),
      html("thead", {}, html("tr", {}, ...["neuron", "weights in", "bias", "weight out"].map((name) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, ...weights[0].map((row, i) => html("tr", {}, html("th", { scope: "row" }, String(i + 1)),
        ...[row.map((v) => text(v)).join(" "), text(biases[0][i]), text(weights[1][0][i])].map((v) => html("td", {}, v))))));
  }

  load();
  draw();
  return figure.remove;
}

export default { title, defaults, render };
