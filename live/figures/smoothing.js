/** A wide network through a few points: what training makes of it, beside the smoothest fit that its neurons allow. */
import { network, parts } from "../core/net.js";
import { chain, corners, minimumNorm, own, spline, value } from "../core/spline.js";
import { Trainer } from "../core/train.js";
import { button, check, player, slider } from "../ui/controls.js";
import { curve, widest } from "../ui/curve.js";
import { count, html, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";

const REACH = 3;
const ALPHAS = [0.03, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10];
const title = "What does a wide network draw through its data?";

export const defaults = { points: [[-2, -0.5], [-1, 0.8], [0, -0.6], [0.8, 0.9], [2, 0.2]], width: 60, alpha: 5, predicted: true, theta: [] };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let net, trainer, done = 0;
  const figure = frame(el, model, {
    name: "smoothing", title, defaults, draw, reset, numbers,
    about: "Squares are data. The blue curve is a network whose bends, the ticks at the foot, begin evenly spread and flat; training moves it to the data. "
      + "Thin lines show what each neuron adds. Dashed, while the box is ticked: the prediction.",
    hints: ["[Tab] goes from point to point", "[←] [→] [↑] [↓] move it", "[Shift] makes large steps", "[Delete] takes it away"],
  });
  const plot = curve({
    figure, label: "The data and the curve", range: () => ({ x: [-REACH, REACH], y: [-2, 2] }),
    move: (i, x, y) => place(model.get("points").map((p, k) => (k === i ? [x, y] : p))),
    moved: (i) => figure.say(`Point ${i + 1} at ${text(model.get("points")[i][0])}, ${text(model.get("points")[i][1])}.`),
    remove: (i) => model.get("points").length > 2 && place(model.get("points").filter((_, k) => k !== i)),
  });
  figure.picture.append(plot.element);
  const run = player({
    step: () => {
      if (done % 20 === 0) trainer.rate = safe();
      done++;
      return trainer.step() > 1e-13;
    },
    draw: () => {
      figure.keep({ theta: [...net.theta] });
      draw();
    },
    ended: () => figure.say(summary()), perFrame: 4000, most: 60000, stepSize: 100,
  });
  const width = slider("neurons", [10, 20, 40, 60, 100, 200], model.get("width"), (v) => fresh({ width: v }));
  const alpha = slider("scale α of the start", ALPHAS, model.get("alpha"), (v) => fresh({ alpha: v }));
  const predicted = check("show the prediction", model.get("predicted"), (on) => {
    figure.keep({ predicted: on });
    draw();
  });
  figure.controls(
    html("div", { class: "row" }, run.element, button("Start again", () => fresh({})), button("Add a point", add)),
    html("div", { class: "row" }, alpha.element, width.element, predicted.element),
  );

  /** Half of the neurons face right, half left, at the middles of equal cells. */
  function neurons() {
    const h = model.get("width") / 2, beta = Array.from({ length: h }, (_, i) => REACH * ((2 * i + 1) / h - 1));
    return { beta: [...beta, ...beta], side: [...beta.map(() => 1), ...beta.map(() => -1)] };
  }
  const sorted = () => [...model.get("points")].sort((a, b) => a[0] - b[0]);

  function fresh(changes) {
    run.pause(true);
    figure.keep({ theta: [], ...changes });
    begin();
  }
  /** The start of the training, or where it was when its link was made. */
  function begin() {
    const { beta, side } = neurons(), a = model.get("alpha"), data = sorted();
    net = network([side.map((s) => [s * a]), [side.map(() => 0)]], [beta.map((b, i) => -side[i] * a * b), [0]]);
    if (model.get("theta").length === net.theta.length) net.theta.set(model.get("theta"));
    const free = new Array(net.theta.length).fill(true);
    free[free.length - 1] = false;
    trainer = new Trainer(net, data.map((p) => p[0]), data.map((p) => p[1]), { loss: "half_sum", optimizer: "gd", free });
    done = 0;
    draw();
  }

  /**
   * The longest step that is safe for gradient descent: one over a bound of the loss's curvature. That is the sum of all squared
   * gradients, and what the residuals add, which is all there is while the weights are tiny.
   */
  function safe() {
    const h = model.get("width"), { theta } = net;
    let sum = 1e-9;
    trainer.x.forEach((x, n) => {
      let residual = trainer.y[n];
      for (let i = 0; i < h; i++) {
        const z = theta[i] * x + theta[h + i], v = theta[2 * h + i];
        if (z > 0) {
          sum += z * z + v * v * (x * x + 1);
          residual -= v * z;
        }
      }
      sum += Math.abs(residual) * Math.hypot(1, x);
    });
    return 1 / sum;
  }

  function place(points) {
    figure.keep({ points });
    const data = sorted();
    trainer.x = data.map((p) => p[0]);
    trainer.y = data.map((p) => p[1]);
    draw();
  }

  function add() {
    place([...model.get("points"), [widest(sorted().map((p) => p[0]), -REACH, REACH), 0]]);
    figure.say("A point was added in the widest gap.");
  }

  function reset() {
    width.set(start.width);
    alpha.set(start.alpha);
    predicted.set(start.predicted);
    fresh(structuredClone(start));
  }

  const hinged = () => {
    const { weights, biases } = parts(net);
    return spline(weights[0].map((w) => w[0]), biases[0], weights[1][0], biases[1][0]);
  };
  function prediction() {
    const { beta, side } = neurons(), data = sorted(), mu = minimumNorm(data.map((p) => p[0]), data.map((p) => p[1]), beta, side);
    return mu && { hinges: beta.map((b, i) => ({ beta: b, mu: mu[i], side: side[i] })), offset: 0 };
  }

  function draw() {
    if (!trainer) return;
    const f = hinged(), p = model.get("predicted") ? prediction() : null;
    plot.draw({
      tall: Math.max(220, Math.min(320, 0.46 * figure.width)), points: model.get("points"), xName: "x",
      lines: [...(p ? [{ points: chain(p, REACH), color: "orange", dashes: "7 4", width: 2 }] : []), { points: chain(f, REACH), color: "blue" }],
      faint: own(f, REACH), ticks: f.hinges.map((h) => h.beta).filter((x) => Math.abs(x) <= REACH),
    });
    figure.read(summary());
  }

  /** How far the curve is from the prediction, at worst between the first and the last point. */
  function gap() {
    const f = hinged(), p = prediction(), data = sorted(), low = data[0][0], high = data.at(-1)[0];
    if (!p) return NaN;
    return Math.max(...Array.from({ length: 201 }, (_, i) => low + ((high - low) * i) / 200).map((x) => Math.abs(value(f, x) - value(p, x))));
  }
  /** The fewest corners that hold nine tenths of the bending: neurons at nearly one place make one. */
  function bending() {
    const sizes = corners(hinged(), REACH).map(Math.abs).sort((a, b) => b - a), all = sizes.reduce((sum, v) => sum + v, 0);
    let k = 0;
    for (let held = 0; held < 0.9 * all; k++) held += sizes[k];
    return all > 1e-6 ? ` ${count(k, "corner")} ${k > 1 ? "hold" : "holds"} 90 % of its bending.` : " A straight line: no corner.";
  }
  function summary() {
    const loss = trainer.loss(), data = sorted();
    if (data.some(([x, y], i) => i && x === data[i - 1][0] && y !== data[i - 1][1])) return `${count(done, "step")}, loss ${text(loss, 4)}. Two points stand at one place: no function goes through both.`;
    return `${count(done, "step")}, loss ${text(loss, 4)}.${bending()}${loss < 1e-3 && model.get("predicted") ? ` Largest gap to the prediction: ${text(gap(), 3)}.` : ""}`;
  }

  function numbers() {
    const f = hinged(), p = prediction();
    const row = ([x, y]) => html("tr", {}, ...[x, y, value(f, x), p ? value(p, x) : NaN].map((v) => html("td", {}, text(v, 4))));
    const head = ["x", "y", "network", "prediction"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, "Data and fits"), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...sorted().map(row)));
  }

  begin();
  return figure.remove;
}

export default { title, defaults, render };
