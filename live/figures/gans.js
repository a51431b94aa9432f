/** A generator with one input that has to hit several targets: the steeper it is between them, the less noise is lost. */
import { below, levels, lost } from "../core/distances.js";
import { axes, HEAD, path, scales } from "../ui/axes.js";
import { button, slider } from "../ui/controls.js";
import { Random } from "../core/random.js";
import { html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { told } from "../ui/told.js";

const REACH = 3, HALF = 0.3, GAP = 0.4, CELLS = 60, MANY = 100, FEW = 0.01; // targets are 1 apart and reach 0.3 to both sides
const SLOPES = [2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40, 47, 50, 54, 60, 75, 100];
const title = "How much falls between the targets?";

export const defaults = { steep: 4, count: 5, drawn: 0, seed: 1 };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  const figure = frame(el, model, {
    name: "gans", title, defaults, draw, reset, numbers,
    about: "Noise comes in from below, most of it near zero. The curve turns it into samples, to be read off on the left. Blue bands are the targets. "
      + "Where the curve is orange, its samples fall between two targets and are lost. On the right all samples are piled up. Draw some, and count.",
    hints: ["[Tab] to a slider or a button", "[←] [→] move a slider"],
  });
  const picture = svg("svg", { role: "img", "aria-label": "The curve, the targets and the samples" });
  figure.picture.append(picture);
  const steep = slider("slope between targets", SLOPES, model.get("steep"), (v, done) => change({ steep: v }, done));
  const count = slider("targets", [2, 3, 4, 5], model.get("count"), (v, done) => change({ count: v }, done));
  figure.controls(html("div", { class: "row" }, button(`Draw ${MANY} samples`, () => change({ drawn: MANY, seed: new Random(model.get("seed")).bits() }, true), { class: "main" })),
    html("div", { class: "row" }, steep.element, count.element));

  function change(what, done) {
    figure.keep(what);
    draw();
    if (done) figure.say(summary());
  }
  function reset() {
    steep.set(start.steep);
    count.set(start.count);
    change(start, false);
  }

  let guessed = false; // then a tick stands at the first slope that loses one in a hundred
  const enough = () => SLOPES.find((s) => lost(model.get("count"), GAP, s) < FEW);
  const half = () => 1 / (2 * model.get("steep")); // of the noise that a whole step takes, 1 high
  const low = () => -(model.get("count") - 1) / 2;
  /** The corners of the staircase, from left to right; steps that would overlap share the way. */
  const bends = () => levels(model.get("count")).flatMap((at, k) => [[at - half(), low() + k], [at + half(), low() + k + 1]]);
  const crowded = () => levels(model.get("count")).some((at, k, all) => k && at - all[k - 1] < 2 * half());

  function draw() {
    const wide = figure.width, tall = Math.max(240, Math.min(330, 0.5 * wide)), pile = Math.max(50, 0.16 * wide);
    const box = { left: 40, top: HEAD, width: wide - 56 - pile, height: tall - HEAD - 36 };
    const view = scales(box, { x: [-REACH, REACH], y: [-2.6, 2.6] }), right = box.left + box.width + 10;
    put(picture, { viewBox: `0 0 ${wide} ${tall}`, height: tall });
    const n = model.get("count"), targets = Array.from({ length: n }, (_, k) => low() + k);
    const band = (c) => svg("rect", { x: box.left, width: box.width + pile + 10, y: view.y(c + HALF), height: view.y(c - HALF) - view.y(c + HALF), fill: "var(--blue)", opacity: 0.15 });
    const corners = bends(), curve = [[-REACH, low()], ...corners, [REACH, low() + n - 1]];
    const inGaps = levels(n).map((at, k) => [[at - GAP / (2 * model.get("steep")), low() + k + HALF], [at + GAP / (2 * model.get("steep")), low() + k + 1 - HALF]]);
    const line = (points, color, width) => svg("path", { d: path(view, points), fill: "none", stroke: `var(--${color})`, "stroke-width": width, "stroke-linejoin": "round" });
    picture.replaceChildren(
      axes(view, { xName: "noise", yName: "sample" }), ...targets.map(band),
      svg("path", { d: path(view, Array.from({ length: 81 }, (_, i) => -REACH + (i * 2 * REACH) / 80).map((z) => [z, -2.6 + 0.7 * Math.exp((-z * z) / 2)])), fill: "none", stroke: "var(--soft)", "stroke-dasharray": "4 3" }),
      line(curve, "blue", 2.5), ...inGaps.map((g) => line(g, "orange", 4.5)), ...heap(view, right, pile),
      ...samples().filter(([z]) => Math.abs(z) <= REACH).map(([z, c]) => svg("circle", { cx: view.x(z), cy: view.y(c), r: 3, fill: `var(--${inside(c) ? "blue" : "orange"})`, stroke: "var(--paper)" })),
    );
    if (guessed) steep.mark(enough());
    figure.read(...reading());
  }

  /** The samples by height: bars to the right, blue in a target and orange between. */
  function heap(view, left, wide) {
    const edges = Array.from({ length: CELLS + 1 }, (_, i) => -2.6 + (5.2 * i) / CELLS), full = 1.1 / model.get("count");
    const share = edges.slice(1).map((top, i) => noise(top) - noise(edges[i]));
    return share.map((part, i) => {
      const c = (edges[i] + edges[i + 1]) / 2, hit = inside(c);
      return svg("rect", { x: left, y: view.y(edges[i + 1]), height: view.y(edges[i]) - view.y(edges[i + 1]), width: Math.max(0, (wide - 12) * Math.min(1, part / full)), fill: `var(--${hit ? "blue" : "orange"})` });
    });
  }
  /** The share of noise whose sample lies below a height. */
  function noise(height) {
    const k = Math.floor(height - low()), at = levels(model.get("count"));
    if (k < 0) return 0;
    if (k >= at.length) return 1;
    return below(at[k] + (height - low() - k - 0.5) / model.get("steep"));
  }

  /** Random noise and the samples that the curve makes of it. */
  function samples() {
    const random = new Random(model.get("seed")), at = levels(model.get("count"));
    return Array.from({ length: model.get("drawn") }, () => {
      const z = random.normal(), steps = at.map((v) => Math.max(0, Math.min(1, (z - v) * model.get("steep") + 0.5)));
      return [z, steps.reduce((sum, v) => sum + v, low())];
    });
  }
  const inside = (c) => Math.abs(c - Math.round(c - low()) - low()) <= HALF && Math.abs(c) <= -low() + HALF;
  const share = () => lost(model.get("count"), GAP, model.get("steep"));
  const reading = () => crowded() ? ["The steps run into each other: a steeper curve is needed."] : [[`${text(100 * share(), 1)} %`], ` of the noise is lost between the targets.${guessed ? ` From slope ${enough()} on, at the tick, less than one in a hundred is.` : ""}${counted()}`];
  const counted = () => (model.get("drawn") ? ` Of ${model.get("drawn")} samples ${samples().filter(([, c]) => !inside(c)).length} were lost.` : "");
  const summary = () => reading().flat().join("");
  function numbers() {
    const row = (s) => html("tr", {}, html("td", {}, String(s)), html("td", {}, `${text(100 * lost(model.get("count"), GAP, s), 1)} %`));
    const head = html("thead", {}, html("tr", {}, ...["slope", "lost"].map((name) => html("th", { scope: "col" }, name))));
    return html("table", {}, html("caption", {}, `Noise that is lost, ${model.get("count")} targets`), head, html("tbody", {}, ...SLOPES.filter((s) => s >= 4 && s <= 40).map(row)));
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
