/** Heights measured around a hole, and the surface that a very wide network builds over it, by its activation. */
import { surface } from "../core/distances.js";
import { button, slider } from "../ui/controls.js";
import { html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";

const POINTS = 60, REACH = 1.05, CELLS = 22, EDGE = 1.4, GOLDEN = Math.PI * (3 - Math.sqrt(5));
const POWERS = [0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.4, 2.6, 2.8, 3];
const LOOKS = [["orange", "steps"], ["blue", "ReLU"], ["green", "higher powers"]]; // as on the page; between two powers, the nearer one
const NAMES = { 0: "0, steps", 1: "1, ReLU", 2: "2, its square", 3: "3, its cube" };
const title = "What fills the hole?";

export const defaults = { power: 1, hole: 0.6, turn: 30, built: false };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let height = null;
  const figure = frame(el, model, {
    name: "beyond", title, defaults, draw, reset, numbers,
    about: "The dots are heights of a hill, measured around a hole. The surface is what a very wide network with two inputs draws through them if its creases stay in place. "
      + "Its neurons are ramps to a power: steps for 0, ReLU for 1.",
    hints: ["[Tab] goes from control to control", "[←] [→] move a slider"],
  });
  const picture = svg("svg", { role: "img", "aria-label": "The measured heights and the surface" });
  const key = html("p", { class: "hints" });
  figure.picture.append(picture, key);
  const build = button("Build", () => change({ built: !model.get("built") }, true), { class: "main" });
  const power = slider("power of the ramp", POWERS, model.get("power"), (v, done) => change({ power: v, built: true }, done), (v) => NAMES[v] ?? String(v));
  const hole = slider("radius of the hole", [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1], model.get("hole"), (v, done) => change({ hole: v }, done));
  const turn = slider("turn", Array.from({ length: 25 }, (_, i) => 15 * i), model.get("turn"), (v) => change({ turn: v }, false), (v) => `${v}°`);
  figure.controls(html("div", { class: "row" }, build, power.element), html("div", { class: "row" }, hole.element, turn.element));

  function change(what, done) {
    figure.keep(what);
    if ("power" in what || "hole" in what) height = null;
    draw();
    if (done) figure.say(summary());
  }
  function reset() {
    power.set(start.power);
    hole.set(start.hole);
    turn.set(start.turn);
    change(start, false);
  }

  /** Points evenly spread over the ring, as the seeds of a sunflower are. */
  function data() {
    const inner = model.get("hole") ** 2, outer = EDGE ** 2;
    return Array.from({ length: POINTS }, (_, k) => {
      const r2 = inner + ((outer - inner) * (k + 0.5)) / POINTS, a = k * GOLDEN, r = Math.sqrt(r2);
      return [r * Math.cos(a), r * Math.sin(a), Math.exp(-0.8 * r2)];
    });
  }
  const built = () => (height ??= surface(data(), model.get("power")));

  function draw() {
    const wide = figure.width, tall = Math.max(230, Math.min(360, 0.55 * wide)), unit = Math.min(wide / 3.1, tall / 2.12);
    const a = (model.get("turn") * Math.PI) / 180, co = Math.cos(a), si = Math.sin(a);
    const spun = (x, y) => [x * co - y * si, x * si + y * co]; // second: how far away
    const at = (x, y, z) => {
      const [u, v] = spun(x, y);
      return [wide / 2 + unit * u, tall * 0.415 + unit * (-0.42 * v - 1.25 * (z - 0.45))];
    };
    put(picture, { viewBox: `0 0 ${wide} ${tall}`, height: tall });
    const things = data().filter(([x, y]) => Math.max(Math.abs(x), Math.abs(y)) <= REACH).map(([x, y, z]) => ({ far: spun(x, y)[1] - 0.05, element: dot(at(x, y, z), at(x, y, 0)) }));
    if (model.get("built")) things.push(...mesh(at, spun));
    things.sort((p, q) => q.far - p.far);
    const ring = Array.from({ length: 61 }, (_, i) => at(model.get("hole") * Math.cos((i * Math.PI) / 30), model.get("hole") * Math.sin((i * Math.PI) / 30), 0));
    const floor = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => at(x * REACH, y * REACH, 0));
    picture.replaceChildren(
      svg("path", { d: closed(floor), fill: "none", stroke: "var(--line)" }), svg("path", { d: closed(ring), fill: "var(--grid)", stroke: "var(--soft)", "stroke-dasharray": "4 3" }),
      ...things.map((t) => t.element),
    );
    const swatch = (dark) => svg("svg", { width: 14, height: 12, "aria-hidden": "true" }, svg("path", { d: "M1 1H13V11H1Z", ...paint(dark, 0.8) }));
    key.replaceChildren(...(model.get("built") ? [swatch(false), ` the surface of ${look()[1]} over the data, `, swatch(true), " over the hole."] : ["Dots: measured heights. Grey: the hole."]));
    build.textContent = model.get("built") ? "Take it away" : "Build";
    figure.read(...reading());
  }
  const closed = (points) => `M${points.map((p) => `${p[0].toFixed(1)} ${p[1].toFixed(1)}`).join("L")}Z`;
  const dot = (/** @type {number[]} */ [x, y], /** @type {number[]} */ [, foot]) => svg("g", {}, svg("line", { x1: x, x2: x, y1: y, y2: foot, stroke: "var(--grid)" }), svg("circle", { cx: x, cy: y, r: 3.2, fill: "var(--ink)", stroke: "var(--paper)" }));

  const look = () => LOOKS[Math.min(2, Math.round(model.get("power")))];
  /** How a patch is drawn: over the hole it is paler and has a dark edge. */
  const paint = (over, shade) => ({ fill: `var(--${look()[0]})`, "fill-opacity": (over ? 0.45 * shade : shade).toFixed(2), stroke: `var(--${over ? "ink" : "paper"})`, "stroke-width": over ? 0.7 : 0.4 });
  /** The surface as quadrilaterals, lit from the left. */
  function mesh(at, spun) {
    const f = built(), step = (2 * REACH) / CELLS, side = Array.from({ length: CELLS + 1 }, (_, i) => -REACH + i * step);
    const z = side.map((y) => side.map((x) => Math.max(-0.2, Math.min(1.6, f([x, y])))));
    const found = [];
    for (let i = 0; i < CELLS; i++) {
      for (let j = 0; j < CELLS; j++) {
        const x = side[i] + step / 2, y = side[j] + step / 2, slope = spun((z[j][i + 1] - z[j][i]) / step, (z[j + 1][i] - z[j][i]) / step);
        const shade = Math.max(0.25, Math.min(0.95, 0.62 + 0.28 * slope[0] + 0.16 * slope[1])), over = Math.hypot(x, y) < model.get("hole");
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(([p, q]) => at(side[p], side[q], z[q][p]));
        found.push({ far: spun(x, y)[1], element: svg("g", {}, svg("path", { d: closed(corners), fill: "var(--paper)" }), svg("path", { d: closed(corners), ...paint(over, shade) })) });
      }
    }
    return found;
  }

  const reading = () => model.get("built")
    ? ["In the middle of the hole the surface is ", [text(built()([0, 0]), 2)], " high. The hill has 1."]
    : ["60 heights are measured, none of them in the hole."];
  const summary = () => reading().flat().join("");
  function numbers() {
    const f = built(), row = (r) => html("tr", {}, ...[r, f([r, 0]), Math.exp(-0.8 * r * r)].map((v) => html("td", {}, text(v, 3))));
    const head = html("thead", {}, html("tr", {}, ...["distance from the middle", "surface", "hill"].map((name) => html("th", { scope: "col" }, name))));
    return html("table", {}, html("caption", {}, "A cut through the surface"), head, html("tbody", {}, ...[0, 0.2, 0.4, 0.6, 0.8, 1].map(row)));
  }

  draw();
  return figure.remove;
}

export default { title, defaults, render };
