/** A sheet to fold where one likes and to cut once: the cut is the decision boundary of the network that folds. */
import { at, height, line, pieces } from "../core/sheet.js";
import { clip } from "../core/regions.js";
import { button, menu, player, slider } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle } from "../ui/handle.js";
import { still } from "../ui/palette.js";

const TURN = (16 * Math.PI) / 180, LEAN = Math.sin((50 * Math.PI) / 180), RISE = Math.cos((50 * Math.PI) / 180), MOST = 5, GRIP = 1.2, SLOW = 0.006;
const SHEETS = {
  strips: { name: "in strips", creases: [[0, 0], [180, -0.5], [0, 0.25]], knife: [157.38, -0.346] },
  star: { name: "like a paper star", creases: [[0, 0], [90, 0], [-45, 0]], knife: [237.17, -0.499] },
  free: { name: "as you like" },
};
const title = "Fold the sheet, cut it once";

export const defaults = { creases: SHEETS.star.creases, knife: SHEETS.star.knife, folds: 0, sheet: "star", intro: true };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  /** @type {ReturnType<typeof pair>[]} */
  let handles = [];
  let room = 1, scale = 1, middle = [0, 0], way = 1;
  const figure = frame(el, model, {
    name: "sheet", title, defaults, draw, reset, numbers,
    about: "A sheet that is folded along the numbered creases, one after the other, and cut along one straight line, the knife; then the same sheet unfolded. "
      + "Move creases and knife by their dots, turn them by their diamonds.",
    hints: ["[Tab] goes to each crease and to the knife", "[←] [→] move or turn it", "[Shift] makes large steps"],
  });
  const left = svg("svg", { role: "group", "aria-label": "The folded sheet, its creases and the knife" }), right = svg("svg", { role: "img" });
  const ground = svg("g", { "aria-hidden": "true" }), grips = svg("g");
  left.append(ground, grips);
  put(figure.picture, { style: "display:flex;flex-wrap:wrap;gap:.6rem" });
  figure.picture.append(left, right);

  const lines = () => model.get("creases").map(([angle, offset]) => line(angle, offset));
  const knife = () => line(.../** @type {[number, number]} */ (model.get("knife")));
  let amount = null;
  const bar = html("div", { class: "row" });
  /** The knife, put through the middle of the folded paper where it would miss it. */
  function kept(creases) {
    const [angle] = model.get("knife"), { normal, offset } = knife(), folded = pieces(creases.map(([a, o]) => line(a, o)), creases.length);
    const across = folded.flatMap((piece) => piece.corners.map((p) => at(piece.map, p))).map(([x, y]) => normal[0] * x + normal[1] * y), [low, high] = [Math.min(...across), Math.max(...across)];
    return offset > low && offset < high ? model.get("knife") : [angle, Math.round(500 * (low + high)) / 1000];
  }
  const sheet = menu("folded", Object.fromEntries(Object.entries(SHEETS).map(([key, s]) => [key, s.name])), model.get("sheet"), (key) => {
    if (SHEETS[key].creases) change({ sheet: key, creases: structuredClone(SHEETS[key].creases), knife: [...SHEETS[key].knife], folds: 3 });
    else change({ sheet: key });
    figure.say(summary());
  });
  const run = player({
    step: () => {
      if (opening) return open(model.get("folds") + SLOW);
      const all = model.get("creases").length, next = Math.max(0, Math.min(all, model.get("folds") + way * 0.02));
      figure.keep({ folds: Math.round(next * 100) / 100 });
      return next > 0 && next < all;
    },
    draw, ended: () => figure.say(summary()), name: "Fold", perFrame: 1, most: 1000,
  });
  run.one.remove();
  run.play.addEventListener("click", () => {
    if (!run.running()) return;
    figure.keep({ intro: false });
    const all = model.get("creases").length;
    way = 1;
    if (model.get("folds") >= all) figure.keep({ folds: 0 });
    if (still()) figure.keep({ folds: all });
  });
  /**
   * A sheet that lies flat shows what a fold is: seen for the first time it folds once, slowly; where less motion is asked for it is
   * folded at once. Whoever does something meanwhile finds it folded. A sheet that is given folded is left alone.
   */
  let opening = model.get("intro") && model.get("folds") === 0 && model.get("creases").length > 0;
  function open(next) {
    opening = next < 1;
    figure.keep({ folds: Math.min(1, Math.round(1000 * next) / 1000), intro: opening });
    return opening;
  }
  function finish() {
    seen.disconnect();
    if (!opening) return;
    run.pause(true);
    open(1);
    draw();
  }
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    if (still()) finish();
    else if (opening && !run.running()) run.start();
  }, { threshold: 0.6 });
  for (const event of ["pointerdown", "keydown", "focusin", "input", "click"]) figure.root.addEventListener(event, finish, { capture: true });

  const more = button("Add a fold", () => {
    const creases = model.get("creases"), angle = [30, 100, -60, 10, 70][creases.length], { normal } = line(angle, 0);
    // through the middle of the paper as it lies folded, so that it has something to fold
    const corners = pieces(lines(), creases.length).flatMap((piece) => piece.corners.map((p) => at(piece.map, p)));
    const offset = corners.reduce((sum, [x, y]) => sum + normal[0] * x + normal[1] * y, 0) / corners.length;
    const next = [...creases, [angle, Math.round(1000 * offset) / 1000]];
    change({ creases: next, folds: next.length, sheet: "free", knife: kept(next) });
    figure.say(summary());
  }), less = button("Take one away", () => {
    const creases = model.get("creases").slice(0, -1);
    change({ creases, folds: Math.min(model.get("folds"), creases.length), sheet: "free" });
    figure.say(summary());
  });
  figure.controls(bar, html("div", { class: "row" }, sheet.element, more, less));

  function controls() {
    const all = model.get("creases").length, steps = Array.from({ length: 20 * all + 1 }, (_, i) => i / 20);
    amount = slider("folds", steps.length > 1 ? steps : [0, 0], model.get("folds"), (v, done) => {
      run.pause(true);
      figure.keep({ folds: v });
      draw();
      if (done) figure.say(summary());
    }, (v) => text(v, 2));
    put(more, { disabled: all >= MOST });
    put(less, { disabled: !all });
    put(run.play, { disabled: !all });
    bar.replaceChildren(run.element, amount.element);
    grips.replaceChildren();
    handles = [...model.get("creases").map((_, i) => pair(`crease ${i + 1}`, "green", () => model.get("creases")[i], (next) => shift(i, next))), pair("the knife", "orange", () => model.get("knife"), (next) => shift(-1, next))];
  }

  function shift(i, next) {
    run.pause(true);
    const rounded = [Math.round(next[0] * 10) / 10, Math.round(Math.max(-1.2, Math.min(1.2, next[1])) * 1000) / 1000];
    if (i < 0) figure.keep({ knife: rounded, sheet: "free" });
    else figure.keep({ creases: model.get("creases").map((c, k) => (k === i ? rounded : c)), sheet: "free" });
    sheet.set("free");
    draw();
  }

  /**
   * A dot that moves a line across and a diamond that turns it about the middle of the sheet.
   * @param {string} name @param {string} color @param {() => [number, number]} get degrees and offset @param {(next: number[]) => void} set
   */
  function pair(name, color, get, set) {
    const release = () => {
      draw();
      tell();
    };
    const tell = () => figure.say(`${name} at ${text(get()[1])}, turned to ${text(get()[0], 0)} degrees. ${summary()}`);
    const dot = handle({
      label: `move ${name}`, color, size: 6, release,
      drag: (px, py) => {
        const { normal } = line(...get()), p = plane(px, py);
        set([get()[0], normal[0] * p[0] + normal[1] * p[1]]);
      },
      move: (dx, dy, far) => set([get()[0], get()[1] + (dx || dy) * (far ? 0.2 : 0.02)]),
    });
    const turn = (angle) => set([((angle % 360) + 360) % 360, get()[1]]);
    const diamond = handle({
      label: `turn ${name}`, kind: "diamond", color, size: 5, release,
      drag: (px, py) => {
        const p = plane(px, py); // at angle 0 the diamond is at (offset, GRIP)
        turn(((Math.atan2(p[1], p[0]) - Math.atan2(GRIP, get()[1])) * 180) / Math.PI);
      },
      move: (dx, dy, far) => turn(get()[0] + (dx || dy) * (far ? 15 : 1)),
    });
    grips.append(dot.element, diamond.element);
    return { name, color, get, dot, diamond };
  }

  function change(changes) {
    run.pause(true);
    figure.keep({ intro: false, ...changes });
    sheet.set(model.get("sheet"));
    controls();
    draw();
  }
  function reset() {
    opening = false;
    change({ ...structuredClone(start), folds: start.intro && !start.folds ? Math.min(1, start.creases.length) : start.folds });
  }

  /** From the plane to the picture, seen from above and a little from the left, and back. */
  /** @param {number[]} p @param {number} [z] @returns {[number, number]} */
  const screen = ([x, y], z = 0) => [middle[0] + scale * (x * Math.cos(TURN) - y * Math.sin(TURN)), middle[1] - scale * ((x * Math.sin(TURN) + y * Math.cos(TURN)) * LEAN + z * RISE)];
  const plane = (px, py) => {
    const a = (px - middle[0]) / scale, b = (middle[1] - py) / scale / LEAN;
    return [a * Math.cos(TURN) + b * Math.sin(TURN), -a * Math.sin(TURN) + b * Math.cos(TURN)];
  };

  /** How many times farther out than usual the paper reaches, seen as it is drawn. */
  function roomFor(all) {
    [scale, middle] = [1, [0, 0]];
    const seen = all.flatMap((piece) => piece.corners.map((p) => screen(at(piece.map, p))));
    return Math.max(1, ...seen.flatMap(([x, y]) => [Math.abs(x) / 1.55, -y / 1.3, y / 1.2]));
  }

  const d = (points) => (points.length > 2 ? `M${points.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L")}Z` : "");
  const cutting = (piece) => {
    const k = knife();
    return piece.corners.map((p) => {
      const [x, y] = at(piece.map, p);
      return k.normal[0] * x + k.normal[1] * y - k.offset;
    });
  };

  function draw() {
    if (!handles.length) controls();
    const wide = figure.width, beside = wide > 560, size = beside ? wide * 0.56 : wide, other = beside ? wide - size - 12 : Math.min(wide, 300);
    const f = model.get("folds"), creases = lines(), all = pieces(creases, f);
    if (!handles.some((h) => h.dot.held || h.diamond.held)) room = roomFor(all); // under a hand nothing grows or shrinks
    scale = size / (3.15 * room);
    middle = [size * 0.5, size * 0.43];
    put(left, { viewBox: `0 0 ${size} ${size * 0.82}`, height: size * 0.82, style: `width:${size}px` });
    const early = f % 1 > 0 && f % 1 <= 0.5;
    const order = [...all].sort((/** @type {any} */ p, /** @type {any} */ q) => p.moving - q.moving || (p.moving && early ? q.layer - p.layer : p.layer - q.layer));
    const shown = order.flatMap((piece) => {
      const lift = 0.02 * piece.layer * (piece.moving ? f % 1 : 1), back = (piece.turned - /** @type {any} */ (piece.moving && early)) % 2;
      const project = (p) => screen(at(piece.map, p), height(creases, f, piece, p) + lift), u = cutting(piece);
      return [
        ...[1, -1].map((sign) => svg("path", { d: d(clip(piece.corners, u.map((v) => sign * v)).map(project)) || "M0 0", fill: sign > 0 ? "var(--blue)" : "var(--tint-b)", "fill-opacity": back ? 0.8 : 1 })),
        svg("path", { d: d(piece.corners.map(project)), fill: back ? "var(--soft)" : "none", "fill-opacity": 0.18, stroke: "var(--ink)", "stroke-width": 0.9, "stroke-linejoin": "round" }),
      ];
    });
    ground.replaceChildren(...shown);
    handles.forEach(({ name, color, get, dot, diamond }, i) => {
      const { normal: [a, b], offset } = line(...get()), c = [a * offset, b * offset], ends = [-1.45, 1.45].map((t) => [c[0] - t * b, c[1] + t * a]), [p, q] = ends.map((e) => screen(e));
      const used = i >= creases.length || i < Math.ceil(f);
      ground.append(svg("path", { d: `M${p}L${q}`, stroke: `var(--${color})`, "stroke-width": i < creases.length ? 1.6 : 2.6, "stroke-dasharray": i < creases.length ? "6 4" : null, opacity: used ? 1 : 0.45 }),
        svg("text", { x: p[0] + 4, y: p[1] - 5 }, i < creases.length ? String(i + 1) : "knife"));
      const grip = [c[0] - GRIP * b, c[1] + GRIP * a];
      dot.at(...screen([c[0] + 0.5 * b, c[1] - 0.5 * a]), offset, `${name}, ${text(offset)} from the middle`);
      diamond.at(...screen(grip), get()[0], `${name}, at ${text(get()[0], 0)} degrees`);
    });
    const flat = (p) => [other / 2 + (other / 2 - 6) * p[0], other / 2 - (other / 2 - 6) * p[1]];
    put(right, { viewBox: `0 0 ${other} ${other}`, height: other, style: `width:${other}px;align-self:center`, "aria-label": `The sheet unfolded: ${summary()}` });
    right.replaceChildren(
      ...[1, -1].map((sign) => svg("path", { d: all.map((piece) => d(clip(piece.corners, cutting(piece).map((v) => sign * v)).map(flat))).join("") || "M0 0", fill: sign > 0 ? "var(--blue)" : "var(--tint-b)" })),
      svg("path", { d: all.map((piece) => d(piece.corners.map(flat))).join(""), fill: "none", stroke: "var(--ink)", "stroke-width": 0.9, "stroke-dasharray": "4 3" }),
      ...creases.slice(0, Math.ceil(f)).flatMap((_, i) => numbered(creases, i, flat)),
    );
    amount.set(f);
    figure.read(summary());
  }

  /** The number of a crease on the flat sheet, where its longest part lies. @param {import("../core/sheet.js").Line[]} creases @param {number} i @param {(p: number[]) => number[]} flat */
  function numbered(creases, i, flat) {
    const { normal: [a, b], offset } = creases[i], ends = pieces(creases, i).flatMap((piece) => {
      const u = piece.corners.map((p) => at(piece.map, p)).map(([x, y]) => a * x + b * y - offset), cut = [];
      piece.corners.forEach((p, k) => {
        const n = (k + 1) % u.length, q = piece.corners[n];
        if (u[k] >= 0 !== u[n] >= 0) cut.push([0, 1].map((j) => p[j] + ((q[j] - p[j]) * u[k]) / (u[k] - u[n])));
      });
      return cut.length === 2 ? [cut] : [];
    });
    if (!ends.length) return [];
    const long = (/** @type {any} */ [p, q]) => Math.hypot(p[0] - q[0], p[1] - q[1]), [p, q] = ends.reduce((best, one) => (long(one) > long(best) + 1e-9 ? one : best)), t = 0.3 + 0.08 * i; // not where creases meet
    const [x, y] = flat([0, 1].map((j) => p[j] + t * (q[j] - p[j])));
    return [svg("circle", { cx: x, cy: y, r: 9, fill: "var(--paper)", stroke: "var(--green)", "stroke-width": 1.5 }), svg("text", { x, y: y + 4.5, "text-anchor": "middle" }, String(i + 1))];
  }

  function summary() {
    const all = pieces(lines(), model.get("folds")), cut = all.filter((piece) => {
      const u = cutting(piece);
      return Math.max(...u) > 1e-9 && Math.min(...u) < -1e-9;
    }).length, done = Math.floor(model.get("folds"));
    const cuts = cut ? `one straight cut becomes a boundary of ${count(cut, "straight piece")} (at most ${2 ** Math.ceil(model.get("folds"))})` : "the knife misses it";
    return `${count(done, "fold")}${model.get("folds") > done ? " and a bit" : ""}: ${count(all.length, "piece")} of paper, and ${cuts}.`;
  }

  function numbers() {
    const row = ([angle, offset], i) => html("tr", {}, html("th", { scope: "row" }, i < model.get("creases").length ? `crease ${i + 1}` : "knife"), html("td", {}, text(angle, 1)), html("td", {}, text(offset, 3)));
    const head = ["line", "its normal, in degrees", "from the middle"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, `A network with ${count(Math.ceil(model.get("folds")), "hidden layer")} of four neurons`), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...[...model.get("creases"), model.get("knife")].map(row)));
  }

  controls();
  draw();
  seen.observe(figure.root);
  return () => {
    seen.disconnect();
    figure.remove();
  };
}

export default { title, defaults, render };
