/** All classes of functions of five bits: how often small networks fail on them, beside a number that each function has. */
import { axes, HEAD, path, scales } from "../ui/axes.js";
import { button, menu } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle, within } from "../ui/handle.js";

const MEASURES = { influence: ["influence", 8], "above 2": ["weight above 2", 32], "above 3": ["weight above 3", 32], "block sensitivity": ["block sensitivity", 8], swaps: ["swaps value", 1] }; // names, and columns for each 1
const NEURONS = { leaky: "leaky ReLU", relu: "ReLU", gelu: "GELU", tanh: "tanh", abs: "|x|", sine: "sine" }, MANY = { 3: "three", 4: "four", 6: "six" };
const PER = 4, ROWS = 26, SHADES = 35; // successes in a row, rows, and shades of a cell
const failures = (row) => Math.max(0, 98.5 - PER * row), title = "Which number tells how often a network fails?";

export const defaults = { neuron: "leaky", width: 4, measure: "swaps", share: 0.5 };

/** The columns of a map: middle and ends of the values, classes, mean of failures, and the shade of each row. */
export function columns(map, measure) {
  const unit = MEASURES[measure][1], half = unit > 1 ? 0 : 0.5;
  return map.split(";").map((column) => {
    const [place, many, mean, first, shades] = column.split(":"), from = (Number(place) - half) / unit;
    return { at: from + 0.5 / unit, from, to: from + 1 / unit, many: Number(many), mean: Number(mean), rows: Array.from({ length: ROWS }, (_, k) => parseInt(shades[k - Number(first)] ?? "0", 36)) };
  });
}
const all = (found) => found.reduce((sum, c) => sum + c.many, 0);
/** The column of the class that has so large a share of all classes to its left. */
function chosen(found, share) {
  let left = 0;
  return found.find((c) => (left += c.many) >= share * all(found)) ?? found.at(-1);
}
/** The share of classes to the left of the middle one of a column. */
const shareOf = (found, column) => (found.filter((c) => c.at < column.at).reduce((sum, c) => sum + c.many, 0) + column.many / 2) / all(found);
/** Failures below which a share of a column's classes lies. */
export function quantile({ rows }, share) {
  let left = share * rows.reduce((sum, v) => sum + v, 0), row = ROWS;
  while (row > 0 && left > 0) left -= rows[--row];
  return Math.round(failures(row));
}

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  const figure = frame(el, model, {
    name: "census", title, defaults, draw, reset, numbers,
    about: "All 554,513 classes. A column holds those with one value of the measure, and is dark where many of them fail so often; the orange line is their mean. A good measure has short columns along a steep line.",
    hints: ["[Tab] to the point", "[←] [→] move it", "[Shift] moves it far"],
  });
  const map = (measure = model.get("measure")) => model.get("maps")[`${model.get("neuron")} ${model.get("width")}`][measure];
  const now = () => columns(map()[1], model.get("measure")), here = () => chosen(now(), model.get("share"));
  const best = () => Object.keys(MEASURES).reduce((a, b) => (map(b)[0] > map(a)[0] ? b : a));
  const plot = svg("svg", { role: "group", "aria-label": "Failures beside the measure" }), back = svg("g", { "aria-hidden": "true" });
  let view;
  const grip = handle({
    label: "the chosen column", release: () => figure.say(summary()), drag: (px) => pick(view.ux(px)),
    move: (dx, dy, far) => {
      const found = now(), at = found.findIndex((c) => c.at === here().at) + (dx || dy) * (far ? 5 : 1);
      change({ share: shareOf(found, found[Math.max(0, Math.min(found.length - 1, at))]) });
    },
  });
  plot.append(back, grip.element);
  put(plot, {
    onclick: (event) => {
      if (event.target.closest(".handle")) return;
      pick(view.ux(within(plot, event)[0]));
      figure.say(summary());
    },
  });
  figure.picture.append(plot);
  const named = Object.fromEntries(Object.entries(MEASURES).map(([key, [name]]) => [key, String(name)]));
  const menus = { measure: menu("measure", named, model.get("measure"), (measure) => choose({ measure })), neuron: menu("neurons", NEURONS, model.get("neuron"), (neuron) => choose({ neuron })), width: menu("how many", MANY, String(model.get("width")), (w) => choose({ width: Number(w) })) };
  const first = button("The best of the five", () => choose({ measure: best() }), { class: "main" });
  figure.controls(html("div", { class: "row" }, menus.measure.element, first), html("div", { class: "row" }, menus.neuron.element, menus.width.element));

  /** The column nearest to a place is chosen. */
  function pick(place) {
    const found = now();
    change({ share: shareOf(found, found.reduce((a, c) => (Math.abs(c.at - place) < Math.abs(a.at - place) ? c : a))) });
  }
  function change(changes) {
    figure.keep(changes);
    draw();
  }
  function choose(changes) {
    change(changes);
    figure.say(summary());
  }
  function reset() {
    change(structuredClone(start));
  }

  function draw() {
    const found = now(), unit = MEASURES[model.get("measure")][1], wide = Math.min(figure.width, 700), tall = Math.max(230, Math.min(300, 0.46 * wide)), column = here();
    for (const [key, one] of Object.entries(menus)) one.set(String(model.get(key)));
    view = scales({ left: 40, top: HEAD, width: wide - 56, height: tall - HEAD - 38 }, { x: [found[0].from, found.at(-1).to], y: [-PER + 0.5, 100.5] });
    put(plot, { viewBox: `0 0 ${wide} ${tall}`, height: tall, style: `width:${wide}px;max-width:100%` });
    put(first, { disabled: best() === model.get("measure") });
    const shades = {}, px = (v) => view.x(v).toFixed(1), py = (row) => view.y(failures(row) + PER / 2).toFixed(1);
    for (const { from, rows } of found) rows.forEach((shade, row) => shade && (shades[Math.ceil(shade / 3)] ??= []).push(`M${px(from)} ${py(row)}H${px(from + 1 / unit)}V${(Number(py(row)) + (view.box.height * PER) / 104 + 0.3).toFixed(1)}H${px(from)}Z`));
    back.replaceChildren(
      axes(view, { xName: MEASURES[model.get("measure")][0], yName: "failed, of 100", grid: false }),
      ...Object.entries(shades).map(([shade, d]) => svg("path", { d: d.join(""), fill: "var(--blue)", "fill-opacity": ((3 * Number(shade)) / SHADES).toFixed(2) })),
      svg("path", { d: path(view, found.map((c) => [c.at, c.mean])), fill: "none", stroke: "var(--orange)", "stroke-width": 2.5 }),
      svg("path", { d: `M${px(column.from)} ${view.box.top}V${view.box.top + view.box.height}M${px(column.to)} ${view.box.top}v${view.box.height}`, stroke: "var(--soft)", "stroke-dasharray": "3 3" }),
    );
    grip.at(view.x(column.at), view.y(column.mean), column.at, value(column));
    figure.read(...parts());
  }
  const value = ({ from, to, at }) => (MEASURES[model.get("measure")][1] > 1 ? `${text(from)} to ${text(to)}` : text(at, 0));
  function parts() {
    const column = here(), name = MEASURES[model.get("measure")][0];
    return [`${name[0].toUpperCase()}${name.slice(1)} ${value(column)}: `, [count(column.many, "class", "classes")], ". Of 100 networks ", [`${text(column.mean, 0)} fail`], ` on average, and ${quantile(column, 0.25)} to ${quantile(column, 0.75)} for the middle half of them. Rank correlation over all classes: `, [text(map()[0])], "."];
  }
  const summary = () => parts().flat().join("");

  function numbers() {
    const head = ["value", "classes", "mean", "a quarter is below", "three quarters are below"].map((name) => html("th", { scope: "col" }, name));
    const rows = now().map((c) => html("tr", {}, html("th", { scope: "row" }, value(c)), ...[c.many.toLocaleString("en-US"), text(c.mean, 1), quantile(c, 0.25), quantile(c, 0.75)].map((v) => html("td", {}, String(v)))));
    return html("table", {}, html("caption", {}, `Failures of 100 networks by ${MEASURES[model.get("measure")][0]}`), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
  }

  draw();
  return figure.remove;
}

export default { title, defaults, render };
