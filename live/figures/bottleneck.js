/** A network that is too small, what its data still ask for, and one more neuron: the reader's, TINY's, and the best there is. */
import { amplitude, asked, bestBend, meanLoss, optimalNeuron, settled } from "../core/bottleneck.js";
import { Random } from "../core/random.js";
import { chain, spline } from "../core/spline.js";
import { button, check } from "../ui/controls.js";
import { curve, widest } from "../ui/curve.js";
import { count, html, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle } from "../ui/handle.js";

const REACH = 3, MOST = 24;
const title = "What does a small network lack, and which neuron helps most?";

export const defaults = {
  points: [[-2.8, 0.3], [-2.3, 0.8], [-1.9, 0.9], [-1.4, 0.5], [-1, -0.2], [-0.6, -0.8], [-0.1, -1], [0.4, -0.7], [0.8, -0.1], [1.3, 0.6], [1.6, 0.9], [2.2, 0.7], [2.7, 0.1]],
  w: [1], b: [0.5], v: [0.28], offset: -0.12, beta: 0, side: 1, mu: 0.5, compare: false, seed: 1,
};

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let random = new Random(model.get("seed")), news = "";
  const figure = frame(el, model, {
    name: "bottleneck", title, defaults, draw, reset, numbers,
    about: "Top: data, and what the network draws; dashed, the same with your neuron. Below: what each point still asks for (its wish), and your neuron, a line that is flat up to its bend. "
      + "Drag its bend and its height so that it meets the stems, then let the others show theirs.",
    hints: ["[Tab] goes from point to point and to your neuron", "[←] [→] [↑] [↓] move it", "[Shift] makes large steps", "[Delete] takes a point away"],
  });
  const plot = curve({
    figure, label: "The data and the curve", range: () => ({ x: [-REACH, REACH], y: [-2, 2] }),
    move: (i, x, y) => change({ points: model.get("points").map((p, k) => (k === i ? [x, y] : p)) }),
    moved: () => figure.say(summary()),
    remove: (i) => change({ points: model.get("points").filter((_, k) => k !== i) }),
  });
  const lower = curve({
    figure, label: "What is asked for, and your neuron", range: () => ({ x: [-REACH, REACH], y: [-tall(), tall()] }), name: () => "bend of your neuron",
    bend: (_, beta) => change({ beta }), bent: () => figure.say(summary()),
  });
  const door = handle({
    label: "height of your neuron", kind: "square", color: "orange", size: 6,
    drag: (_, py) => change({ mu: Math.round((lower.view.uy(py) / Math.abs(out() - model.get("beta"))) * 100) / 100 }),
    move: (dx, dy, far) => change({ mu: Math.round((model.get("mu") + (dy || dx) * (far ? 0.5 : 0.05)) * 100) / 100 }),
    release: () => figure.say(summary()),
  });
  lower.element.append(door.element);
  figure.picture.append(plot.element, lower.element);
  const compare = check("compare", model.get("compare"), (on) => {
    change({ compare: on });
    figure.say(summary());
  });
  const adds = { "Add your neuron": mine, "Add TINY's": formula, "Add the best bend": best };
  figure.controls(
    html("div", { class: "row" }, ...Object.entries(adds).map(([words, which], k) => button(words, () => add(which), k ? {} : { class: "main" })), compare.element),
    html("div", { class: "row" }, button("Best height here", fitHeight), button("Turn it around", () => change({ side: -model.get("side") })),
      button("Settle the old weights", settle), button("Begin with one", begin),
      button("Add a point", () => {
        change({ points: [...model.get("points"), [widest(xs(), -REACH, REACH), 0]] });
        figure.say(summary());
      })),
  );

  /** @returns {import("../core/dynamics.js").Shallow} */
  const f = () => /** @type {any} */ (Object.fromEntries(["w", "b", "v", "offset"].map((key) => [key, model.get(key)])));
  const xs = () => model.get("points").map((p) => p[0]), ys = () => model.get("points").map((p) => p[1]);
  const hinged = (g) => spline(g.w, g.b, g.v, g.offset);
  const rest = () => asked(f(), xs(), ys());
  const tall = () => Math.max(0.5, Math.ceil(10 * Math.max(0, ...rest().map(Math.abs))) / 10 + 0.1);
  /** The place of the square: one unit out on the switched-on side. */
  const out = () => Math.max(-REACH, Math.min(REACH, model.get("beta") + model.get("side")));
  const hinge = ({ beta, side, mu }) => ({ w: side, b: -side * beta, v: mu });

  function mine() {
    return hinge({ beta: model.get("beta"), side: model.get("side"), mu: model.get("mu") });
  }
  function formula() {
    const found = optimalNeuron(xs(), rest());
    return found && { w: found.w, b: found.b, v: found.v * amplitude(found, xs(), rest()).amplitude };
  }
  function best() {
    const found = bestBend(xs(), rest());
    return found && hinge(found);
  }
  /** What a neuron leaves of the loss. */
  const left = (n) => meanLoss(rest().map((e, p) => e - (n ? n.v * Math.max(0, n.w * xs()[p] + n.b) : 0)));

  function change(changes) {
    news = "";
    figure.keep(changes);
    draw();
  }
  function add(which) {
    const n = which(), now = f();
    if (!n) news = "Nothing is left that a line could see: the formula gives no neuron. ";
    else if (now.w.length >= MOST) news = "That is enough neurons: begin again with one. ";
    else {
      const before = meanLoss(rest());
      figure.keep({ w: [...now.w, n.w], b: [...now.b, n.b], v: [...now.v, n.v] });
      news = `A neuron that bends at ${text(-n.b / n.w)}: loss ${text(before, 4)} before. `;
    }
    draw();
    figure.say(summary());
  }
  function settle() {
    const before = meanLoss(rest()), { v, offset } = settled(f(), xs(), ys());
    change({ v, offset });
    news = `The outgoing weights have done what they can: loss ${text(before, 4)} before. `;
    draw();
    figure.say(summary());
  }
  function fitHeight() {
    const n = { ...mine(), v: 1 }, up = amplitude(n, xs(), rest()).amplitude, down = amplitude({ ...n, v: -1 }, xs(), rest()).amplitude;
    change({ mu: Math.round((up - down) * 100) / 100 });
    figure.say(summary());
  }
  function begin() {
    const one = () => random.uniform(-1, 1), w = one();
    change({ w: [w], b: [-w * random.uniform(-2, 2)], v: [one()], offset: one() / 2, seed: random.bits() });
    random = new Random(model.get("seed"));
    figure.say(summary());
  }
  function reset() {
    random = new Random(start.seed);
    compare.set(start.compare);
    change(structuredClone(start));
  }

  const drawn = (n, color, dashes) => (n ? [{ points: chain(hinged({ w: [n.w], b: [n.b], v: [n.v], offset: 0 }), REACH), color, dashes, width: dashes ? 2 : 2.5 }] : []);

  function draw() {
    const now = hinged(f()), n = mine(), grown = f(), asks = rest(), x = xs(), high = Math.max(180, Math.min(240, 0.34 * figure.width));
    for (const key of ["w", "b", "v"]) grown[key] = [...grown[key], n[key]];
    plot.draw({
      tall: high, points: model.get("points"), yName: "data and network",
      lines: [{ points: chain(hinged(grown), REACH), color: "orange", dashes: "7 4", width: 2 }, { points: chain(now, REACH), color: "blue" }],
      ticks: now.hinges.map((h) => h.beta).filter((b) => Math.abs(b) <= REACH),
    });
    lower.draw({
      tall: high, xName: "x", yName: "what is asked for", points: asks.map((e, p) => [x[p], e]), bends: [[model.get("beta"), 0]],
      lines: [...asks.map((e, p) => ({ points: [[x[p], 0], [x[p], e]], color: "soft", width: 2 })), { points: [[-REACH, 0], [REACH, 0]], color: "line", width: 1 },
        ...(model.get("compare") ? [...drawn(formula(), "green", "7 4"), ...drawn(best(), "pink", "2 3")] : []), ...drawn(n, "orange")],
    });
    const at = out(), height = n.v * Math.abs(at - model.get("beta")), shown = Math.max(-tall(), Math.min(tall(), height));
    door.element.style.display = Math.abs(at - model.get("beta")) > 0.05 ? "" : "none";
    door.at(lower.view.x(at), lower.view.y(shown), n.v, `slope ${text(n.v)}, on to the ${n.w > 0 ? "right" : "left"}`);
    figure.read(...told());
  }

  /** The share of the loss that a neuron takes away. */
  const taken = (n) => {
    const before = meanLoss(rest());
    return before > 0 ? 1 - left(n) / before : 0;
  };
  const percent = (share) => `${(100 * Math.abs(share)).toFixed(1)} %`;
  function told() {
    if (!xs().length) return ["No data: nothing is asked for."];
    const share = taken(mine()), words = [`${news}${count(f().w.length, "neuron")}, loss ${text(meanLoss(rest()), 4)}. Your neuron would ${share < 0 ? "add" : "take"} `, [percent(share)], share < 0 ? " to it" : " of it away"];
    if (!model.get("compare")) return [...words, "."];
    return [...words, "; TINY's (green dashes) takes ", [percent(taken(formula()))], ", the best bend (pink dots) ", [percent(taken(best()))], "."];
  }
  const summary = () => told().flat().join("");

  function numbers() {
    const rows = { yours: mine(), "TINY's": formula(), "the best bend": best() };
    const row = ([name, n]) => html("tr", {}, html("th", { scope: "row" }, name), ...(n ? [-n.b / n.w, n.v * Math.abs(n.w), left(n)] : [NaN, 0, left(null)]).map((v) => html("td", {}, text(v, 4))));
    const head = ["neuron", "bends at", "by", "loss after it"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, `One more neuron; the loss, half the mean square, is ${text(meanLoss(rest()), 4)} now`), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...Object.entries(rows).map(row)));
  }

  draw();
  return figure.remove;
}

export default { title, defaults, render };
