/** A race on the sine: eight neurons from the beginning against a network that gets them one by one. */
import { switchingLines } from "../core/fold.js";
import { begin, METHODS, Runner, right, sine } from "../core/race.js";
import { Random } from "../core/random.js";
import { boundary, clip, heights, regions } from "../core/regions.js";
import { scales, ticks } from "../ui/axes.js";
import { button, menu, player } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";

const FRAME = [[-1, -1], [1, -1], [1, 1], [-1, 1]], BUDGET = 3000, EVERY = 300, FIRST = 2, LAST = 8, MANY = 20, LEAD = 12;
const RATES = { scratch: 0.03, random: 0.03, fold: 0.01, split: 0.01 };
const NAMES = { random: "by dice", fold: "by folds", split: "by twins" };
const title = "From scratch against growing";

export const defaults = { seed: 5, method: "random", steps: 0, leads: [] };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let train, test, runners, steps, dice, queue = 0;
  const figure = frame(el, model, {
    name: "race", title, defaults, draw, numbers, reset,
    about: "Both learn which points lie above a sine. The tinted side and the heavy line are the answer, thin lines are creases: on each a neuron switches on. "
      + "The newest is green. Below, one dot a finished race.",
    hints: ["[Tab] to the buttons", "[Enter] presses one"],
  });
  const plots = [0, 1].map(() => svg("svg", { role: "img" })), strip = svg("svg", { role: "img" });
  put(figure.picture, { style: "display:flex;flex-wrap:wrap;gap:.6rem" });
  figure.picture.append(...plots, strip);

  const run = player({ step, draw: keep, ended: () => figure.say(told().flat().join("")), name: "Race", perFrame: 12, most: BUDGET, stepSize: EVERY });
  const many = player({
    step: () => {
      queue ||= MANY + 1;
      if (steps >= BUDGET) {
        if (--queue <= 1) {
          queue = 0;
          return false;
        }
        next();
      }
      for (let k = 0; k < 100; k++) step();
      return true;
    },
    draw: keep, ended: () => figure.say(tally()), name: `${MANY} more races`, perFrame: 10, most: (MANY + 1) * (BUDGET / 100 + 1),
  });
  many.one.remove();
  put(many.play, { class: null });
  const method = menu("it grows", NAMES, model.get("method"), (kind) => {
    figure.keep({ method: kind, leads: [], steps: 0 });
    load();
    draw();
  });
  figure.controls(html("div", { class: "row" }, run.element, button("Next race", () => {
    run.pause(true);
    many.pause(true);
    next();
    draw();
    figure.say("New points, new networks.");
  }), many.element, method.element));

  /** Everything follows from the seed, the method and the number of steps. */
  function load() {
    dice = new Random(model.get("seed"));
    train = sine(300, dice);
    test = sine(1000, dice);
    const kind = model.get("method");
    runners = [new Runner(begin(LAST, dice), train, RATES.scratch), new Runner(begin(FIRST, dice), train, RATES[kind])];
    steps = 0;
    for (const target = Math.min(BUDGET, model.get("steps")); steps < target;) advance();
  }
  function advance() {
    const grown = runners[1];
    if (steps && steps % EVERY === 0 && grown.net.sizes[1] < LAST) grown.become(METHODS[model.get("method")](grown.net, train, dice));
    for (const runner of runners) runner.step();
    steps++;
  }
  function step() {
    if (steps >= BUDGET) return false;
    advance();
    if (steps < BUDGET) return true;
    figure.keep({ leads: [...model.get("leads"), Math.round(1000 * lead()) / 10] });
    return false;
  }
  function next() {
    figure.keep({ seed: dice.bits(), steps: 0 });
    load();
  }
  function keep() {
    figure.keep({ steps });
    draw();
  }
  function reset() {
    run.pause(true);
    many.pause(true);
    queue = 0;
    figure.keep(structuredClone(start));
    method.set?.(start.method);
    load();
    draw();
  }
  const score = () => runners.map((r) => right(r.net, test));
  const lead = () => score()[1] - score()[0];

  function draw() {
    if (steps !== model.get("steps") && !run.running() && !many.running()) load();
    const wide = Math.min(360, (figure.width - 12) / 2), head = 44, s = scales({ left: 2, top: head, width: wide - 4, height: wide - 4 }, { x: [-1, 1], y: [-1, 1] });
    const at = (p) => `${s.x(p[0]).toFixed(1)} ${s.y(p[1]).toFixed(1)}`, segment = ([p, q]) => `M${at(p)}L${at(q)}`;
    const shares = score();
    runners.forEach(({ net }, k) => {
      const all = regions(net, FRAME), who = k ? `grown ${NAMES[model.get("method")]}` : "from scratch", good = `${count(net.sizes[1], "neuron")}, ${text(100 * shares[k], 1)} % right`;
      const fill = (sign, tint) => svg("path", { d: all.map((r) => clip(r.corners, heights(r).map((z) => sign * z))).filter((c) => c.length > 2).map((c) => `M${c.map(at).join("L")}Z`).join("") || "M0 0", fill: `var(--${tint})`, "shape-rendering": "crispEdges" });
      const creases = switchingLines(net).map((line) => line && chord(line));
      const thin = (ends, i) => svg("path", { d: ends ? segment(ends) : "M0 0", stroke: `var(--${k && i === net.sizes[1] - 1 && i >= FIRST ? "green" : "soft"})`, "stroke-width": 1.2, fill: "none" });
      const dots = [...train.y.slice(0, 120)].map((label, p) => svg("circle", { cx: s.x(train.x[2 * p]), cy: s.y(train.x[2 * p + 1]), r: 2, fill: `var(--${label ? "orange" : "blue"})` }));
      put(plots[k], { viewBox: `0 0 ${wide} ${wide + head - 2}`, style: `width:${wide}px`, "aria-label": `${who}: ${good}` });
      plots[k].replaceChildren(svg("text", { x: 2, y: 15 }, who), svg("text", { x: 2, y: 35, class: "soft" }, good), fill(1, "tint-b"), fill(-1, "tint-a"), ...dots, ...creases.map(thin),
        svg("path", { d: boundary(all).map(segment).join("") || "M0 0", stroke: "var(--ink)", "stroke-width": 2.5, fill: "none" }));
    });
    drawStrip();
    figure.read(...told());
  }

  /** Where a crease meets the square. @param {{ normal: number[], offset: number }} line */
  function chord({ normal: [a, b], offset }) {
    const ends = [];
    FRAME.forEach((p, i) => {
      const q = FRAME[(i + 1) % 4], u = a * p[0] + b * p[1] + offset, v = a * q[0] + b * q[1] + offset;
      if (u >= 0 !== v >= 0) ends.push([p[0] + ((q[0] - p[0]) * u) / (u - v), p[1] + ((q[1] - p[1]) * u) / (u - v)]);
    });
    return ends.length === 2 ? ends : null;
  }

  function drawStrip() {
    const wide = figure.width, tall = 84, s = scales({ left: 10, top: 20, width: wide - 20, height: 30 }, { x: [-LEAD, LEAD], y: [0, 1] }), leads = model.get("leads");
    const label = (x, y, words, anchor) => svg("text", { x, y, "text-anchor": anchor, class: "soft" }, words);
    const dot = (v, i) => svg("circle", { cx: s.x(Math.max(-LEAD, Math.min(LEAD, v))), cy: s.y(0.15 + ((i * 0.37) % 0.7)), r: 4, fill: "var(--ink)", opacity: 0.55 });
    put(strip, { viewBox: `0 0 ${wide} ${tall}`, style: `width:${wide}px;max-width:100%`, "aria-label": tally() });
    strip.replaceChildren(label(10, 13, "from scratch ahead", "start"), label(wide - 10, 13, "growing ahead", "end"),
      svg("path", { d: `M10 50H${wide - 10}M${s.x(0)} 16V56`, stroke: "var(--line)", fill: "none" }),
      ...ticks(-LEAD, LEAD, 6).at.map((v) => label(s.x(v), 70, text(v, 0), "middle")), label(wide - 10, 83, "lead in points of a hundred", "end"), ...leads.map(dot));
  }

  function tally() {
    const leads = model.get("leads");
    if (!leads.length) return "No race has been run to its end yet.";
    const mean = leads.reduce((a, b) => a + b, 0) / leads.length, ahead = leads.filter((v) => v > 0).length;
    return `${count(leads.length, "race")} run: growing was ahead in ${ahead}, by ${text(mean, 1)} points on average.`;
  }
  const told = () => [`${steps} of ${BUDGET} steps. `, [tally()]];

  function numbers() {
    const row = (v, i) => html("tr", {}, html("th", { scope: "row" }, String(i + 1)), html("td", {}, text(v, 1)));
    return html("table", {}, html("caption", {}, "Lead of the growing network at the end, in points"), html("tbody", {}, ...model.get("leads").map(row)));
  }

  load();
  draw();
  return figure.remove;
}

export default { title, defaults, render };
