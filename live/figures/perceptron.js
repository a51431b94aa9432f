/** A line in the plane that is turned whenever a point is on its wrong side. */
import { corrected, height, isRight, learn, mostMistakes, widest } from "../core/perceptron.js";
import { axes, HEAD, path, scales } from "../ui/axes.js";
import { button, menu, player } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle, shape } from "../ui/handle.js";

const REACH = 1.5, PAUSE = 6, MOST = 60, ENOUGH = 12; // frames for a sample; points; mistakes after which the reader is told
const ACROSS = [-0.5, 0.9], SHIFT = 0.16 / Math.hypot(...ACROSS); // how the wide gap becomes the narrow one
const WIDE = [
  [0.75, 0.18, -1], [-0.4, 0.68, 1], [0.79, 0.33, -1], [0.56, 1.26, 1], [-0.28, -0.27, -1], [0.11, 0.9, 1], [0.77, -0.22, -1],
  [0.52, 0.83, 1], [-0.12, -0.95, -1], [-1.19, 0.61, 1], [0.01, -0.46, -1], [-0.06, 1.04, 1], [1.04, 0.41, -1], [0.73, 0.99, 1],
];
const round = (v) => Math.round(100 * v) / 100;
const SETS = {
  wide: WIDE, narrow: WIDE.map(([x, y, t]) => [round(x - t * SHIFT * ACROSS[0]), round(y - t * SHIFT * ACROSS[1]), t]),
  xor: [[-0.8, -0.8, -1], [-0.8, 0.8, 1], [0.8, -0.8, 1], [0.8, 0.8, -1]],
};
const title = "A line that learns from its mistakes";

/** `points`: x, y and the class, 1 or -1; `mistakes`: how many the line has made from nothing; `proof`: whether the two bounds are shown. */
export const defaults = { points: WIDE, mistakes: 0, proof: false };

function render({ model, el }) {
  const start = structuredClone(Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)])));
  let run = again(), handles = [];
  const figure = frame(el, model, {
    name: "perceptron", title, defaults, draw, reset, numbers,
    about: "Orange squares should lie on the tinted side of the line, blue circles on the other. Rays mark those on the wrong side. The points take turns, and a wrong one turns the line a little. "
      + "The ring is the point that did so last, and dots show the line before.",
    hints: ["[Tab] goes from point to point", "[arrows] move it", "[Enter] changes its class", "[Delete] takes it away"],
  });
  const plane = svg("svg", { role: "group", "aria-label": "The plane, the points and the line" }), back = svg("g", { "aria-hidden": "true" }), marks = svg("g"), below = svg("svg", { role: "img" });
  plane.append(back, marks);
  figure.picture.append(plane, below);
  const go = player({ step: visit, draw, ended: () => figure.say(summary()), name: "Learn", perFrame: 1, most: 20_000 });
  go.one.remove();
  const next = button("Next mistake", () => {
    go.pause(true);
    for (let k = 0; k < points().length && !mistake(); k++);
    draw();
    figure.say(summary());
  });
  const sets = menu("points", { own: "yours", wide: "a wide gap", narrow: "a narrow gap", xor: "XOR" }, named(), (key) => key !== "own" && set(structuredClone(SETS[key])));
  figure.controls(
    html("div", { class: "row" }, go.element, next, button("From the start", () => set(points()))),
    html("div", { class: "row" }, sets.element, button("Add a point", add)),
  );

  function points() {
    return model.get("points");
  }
  function named() {
    return Object.keys(SETS).find((key) => JSON.stringify(SETS[key]) === JSON.stringify(points())) ?? "own";
  }
  /** Where learning stands: from nothing to as many mistakes as the state says. */
  function again() {
    const { history, wrong } = learn(points(), model.get("mistakes"));
    return { history, wrong, at: wrong.length ? (wrong.at(-1) + 1) % points().length : 0, quiet: 0, wait: 0 };
  }
  const line = () => run.history.at(-1);
  const done = () => points().every((p) => isRight(line(), p));

  /** Look at the next sample; whether it was wrong and the line has been turned. */
  function mistake() {
    const at = run.at, p = points()[at];
    run.at = (at + 1) % points().length;
    run.looked = at;
    if (isRight(line(), p)) return false;
    run.history.push(corrected(line(), p));
    run.wrong.push(at);
    figure.keep({ mistakes: run.wrong.length });
    return true;
  }
  /** One frame of learning: some frames for each sample, so that one can follow. */
  function visit() {
    if (run.wait++ % PAUSE === 0) mistake();
    return !done();
  }
  /** Other points: the line begins anew, from nothing. */
  function set(next) {
    go.pause(true);
    figure.keep({ points: next, mistakes: 0 });
    run = again();
    sets.set(named());
    draw();
  }
  function add() {
    if (points().length >= MOST) return;
    const k = points().length, angle = 2.4 * k;
    set([...points(), [round(0.7 * Math.cos(angle)), round(0.7 * Math.sin(angle)), k % 2 ? 1 : -1]]);
    figure.say("A point more. Drag it where you like.");
  }
  function reset() {
    go.pause(true);
    figure.keep(structuredClone(start));
    run = again();
    sets.set(named());
    draw();
  }

  function draw() {
    const wide = figure.width, tall = Math.min(wide, model.get("proof") ? 330 : 430); // the proof stands below it
    const s = scales({ left: (wide - tall) / 2, top: 0, width: tall, height: tall }, { x: [-REACH, REACH], y: [-REACH, REACH] });
    put(plane, { viewBox: `0 0 ${wide} ${tall}`, height: tall });
    const w = line(), before = run.history.at(-2), last = run.wrong.at(-1);
    back.replaceChildren(
      svg("rect", { x: s.box.left, y: 0, width: tall, height: tall, fill: "var(--fill)", stroke: "var(--line)" }),
      svg("path", { d: side(s, w), fill: "var(--tint-b)" }),
      ...(before && (before[0] || before[1]) ? [svg("path", { d: across(s, before), stroke: "var(--soft)", "stroke-width": 1.5, "stroke-dasharray": "3 5" })] : []),
      ...(w[0] || w[1] ? [svg("path", { d: across(s, w), stroke: "var(--ink)", "stroke-width": 2.5 })] : []),
      ...(run.wrong.length && points()[last] ? [ring(s, points()[last], "var(--ink)", 14)] : []),
      ...(go.running() && run.looked !== undefined && points()[run.looked] ? [ring(s, points()[run.looked], "var(--green)", 11)] : []),
      ...points().filter((p) => !isRight(w, p)).map((p) => svg("path", { d: shape("cross", 10), transform: place(s, p), stroke: "var(--ink)", "stroke-width": 1.5 })),
    );
    while (handles.length > points().length) handles.pop().element.remove();
    while (handles.length < points().length) {
      handles.push(point(handles.length));
      marks.append(handles.at(-1).element);
    }
    handles.forEach((one, i) => {
      const [x, y, t] = points()[i];
      one.dress({ label: `point ${i + 1}, ${t > 0 ? "orange square" : "blue circle"}`, kind: t > 0 ? "square" : "dot", color: t > 0 ? "orange" : "blue" });
      one.at(s.x(x), s.y(y), x, `${text(x)}, ${text(y)}, ${isRight(w, points()[i]) ? "right" : "wrong"}`);
      one.scale = s;
    });
    put(next, { disabled: done() });
    put(go.play, { disabled: done() });
    put(below, { style: model.get("proof") ? "" : "display:none" });
    if (model.get("proof")) proof(wide);
    figure.read(summary());
  }
  const place = (s, [x, y]) => `translate(${s.x(x).toFixed(1)} ${s.y(y).toFixed(1)})`;
  const ring = (s, p, stroke, r) => svg("circle", { r, transform: place(s, p), fill: "none", stroke, "stroke-width": 2 });
  const frameOf = [[-REACH, -REACH], [REACH, -REACH], [REACH, REACH], [-REACH, REACH]];
  /** Where the line enters and leaves the square. */
  function cuts(w) {
    return frameOf.flatMap((p, i) => {
      const q = frameOf[(i + 1) % 4], a = height(w, p), b = height(w, q);
      return a >= 0 !== b >= 0 ? [[p[0] + (a / (a - b)) * (q[0] - p[0]), p[1] + (a / (a - b)) * (q[1] - p[1])]] : [];
    });
  }
  const across = (s, w) => (cuts(w).length > 1 ? path(s, cuts(w)) : "M0 0");
  /** The part of the square that counts as class 1. */
  function side(s, w) {
    const found = frameOf.flatMap((p, i) => {
      const q = frameOf[(i + 1) % 4], a = height(w, p), b = height(w, q), here = a >= 0 ? [p] : [];
      return a >= 0 !== b >= 0 ? [...here, [p[0] + (a / (a - b)) * (q[0] - p[0]), p[1] + (a / (a - b)) * (q[1] - p[1])]] : here;
    });
    return found.length ? `${path(s, found)}Z` : "M0 0";
  }
  function point(i) {
    const to = (x, y) => set(points().map((p, k) => (k === i ? [round(Math.max(-REACH, Math.min(REACH, x))), round(Math.max(-REACH, Math.min(REACH, y))), p[2]] : p)));
    return handle({
      label: `point ${i + 1}`, size: 7,
      drag: (px, py) => to(handles[i].scale.ux(px), handles[i].scale.uy(py)),
      move: (dx, dy, far) => to(points()[i][0] + dx * (far ? 0.2 : 0.02), points()[i][1] + dy * (far ? 0.2 : 0.02)),
      release: () => figure.say(summary()),
      act: () => set(points().map((p, k) => (k === i ? [p[0], p[1], -p[2]] : p))),
      remove: () => points().length > 2 && set(points().filter((_, k) => k !== i)),
    });
  }

  /** What the proof says: progress grows at least like a straight line, length at most like a root. */
  function proof(wide) {
    const best = widest(points()), most = mostMistakes(points()), tall = 210;
    put(below, { viewBox: `0 0 ${wide} ${tall}`, height: tall, "aria-label": best ? `Progress and length of the weights; the two bounds meet at ${text(most, 0)} mistakes` : "No line parts these points, so there is no bound" });
    const last = best ? 1.08 * most : Math.max(20, run.wrong.length), far = Math.sqrt(Math.max(...points().map(([x, y]) => x * x + y * y + 1)));
    const top = far * Math.sqrt(last) * 1.05, s = scales({ left: 40, top: HEAD, width: wide - 50, height: tall - HEAD - 36 }, { x: [0, last], y: [0, top] });
    const root = Array.from({ length: 60 }, (_, k) => [last * (k / 59) ** 2, (far * Math.sqrt(last) * k) / 59]); // dense where it bends
    const dots = (value, color, kind) => run.history.map((w, k) => svg("path", { d: shape(kind, 5), transform: `translate(${s.x(k).toFixed(1)} ${s.y(value(w)).toFixed(1)})`, fill: `var(--${color})` }));
    below.replaceChildren(
      axes(s, { xName: "mistakes", yName: best ? "weights: length (pink) and progress (green)" : "length of the weights" }),
      svg("path", { d: path(s, root), fill: "none", stroke: "var(--pink)", "stroke-width": 2 }),
      ...(best ? [svg("path", { d: path(s, [[0, 0], [last, last * best.margin]]), stroke: "var(--green)", "stroke-width": 2 })] : []),
      ...(best ? dots((w) => w.reduce((sum, v, i) => sum + v * best.weights[i], 0), "green", "square") : []),
      ...dots((w) => Math.hypot(...w), "pink", "dot"),
    );
  }

  function summary() {
    const wrong = points().filter((p) => !isRight(line(), p)).length, most = mostMistakes(points());
    const now = `${count(run.wrong.length, "mistake")} so far, ${count(wrong, "point")} of ${points().length} wrong.`;
    if (done()) return `Settled after ${count(run.wrong.length, "mistake")}. The theorem allows ${text(most, 0)}.`;
    return !Number.isFinite(most) && run.wrong.length >= ENOUGH ? `${now} No line parts these points, and so it never ends.` : now;
  }
  function numbers() {
    const head = ["mistake", "point", "weight of x", "weight of y", "bias"];
    return html("table", {}, html("caption", {}, `The line after each mistake; at most ${text(mostMistakes(points()), 2)}`), html("thead", {}, html("tr", {}, ...head.map((name) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, ...run.history.slice(-40).map((w, k, all) => {
        const number = run.history.length - all.length + k;
        return html("tr", {}, html("th", { scope: "row" }, String(number)), ...[number ? String(run.wrong[number - 1] + 1) : "none", ...w.map((v) => text(v))].map((v) => html("td", {}, v)));
      })));
  }

  draw();
  return figure.remove;
}

export default { title, defaults, render };
