/** All classes of functions of five bits: how often small networks fail on them, beside a number that each function has. */
import { count, text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const MEASURES = { influence: ["influence", 8], "above 2": ["weight above 2", 32], "above 3": ["weight above 3", 32], "block sensitivity": ["block sensitivity", 8], swaps: ["swaps value", 1] }; // names, and columns for each 1
const NEURONS = { leaky: "leaky ReLU", relu: "ReLU", gelu: "GELU", tanh: "tanh", abs: "|x|", sine: "sine" }, MANY = { 3: "three", 4: "four", 6: "six" };
const PER = 4, ROWS = 26, SHADES = 35; // successes in a row, rows, and shades of a cell
const failures = (row) => Math.max(0, 98.5 - PER * row);

/** The columns of a map: middle and ends of the values, classes, mean of failures, and the shade of each row. */
function columns(map, measure) {
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
function quantile({ rows }, share) {
  let left = share * rows.reduce((sum, v) => sum + v, 0), row = ROWS;
  while (row > 0 && left > 0) left -= rows[--row];
  return Math.round(failures(row));
}

const map = ({ maps, neuron, width }, measure) => maps[`${neuron} ${width}`][measure];
const now = (state) => columns(map(state, state.measure)[1], state.measure), unit = ({ measure }) => MEASURES[measure][1], named = ({ measure }) => String(MEASURES[measure][0]);
const best = (state) => Object.keys(MEASURES).reduce((a, b) => (map(state, b)[0] > map(state, a)[0] ? b : a));
const most = ({ measure }) => (measure.startsWith("above") ? 1 : 5); // a share, or one for each of five bits
const value = (state, { from, to, at }) => (unit(state) === 1 ? text(at, 0) : from < most(state) ? `${text(from)} to ${text(to)}` : text(from));
/** The column nearest to a place is chosen. */
function pick(place, state) {
  const found = now(state);
  return { share: shareOf(found, found.reduce((a, c) => (Math.abs(c.at - place) < Math.abs(a.at - place) ? c : a))) };
}
/** The column so many further on is chosen: columns of no class are not there. */
function further(by, state) {
  const found = now(state), at = found.indexOf(found.find((c) => c.at === chosen(found, state.share).at)) + by;
  return { share: shareOf(found, found[Math.max(0, Math.min(found.length - 1, at))]) };
}

export default figure({
  name: "census",
  title: "Which number tells how often a network fails?",
  about: "All 554,513 classes. A column holds those with one value of the measure, and its colour is strong where many of them fail so often; the orange line is their mean. A good measure has short columns along a steep line.",
  hints: ["[Tab] to the point", "[←] [→] move it", "[Shift] moves it far"],
  defaults: { neuron: "leaky", width: 4, measure: "swaps", share: 0.5 },
  given: ["maps"],
  pictures: [{ label: "Failures beside the measure", x: (state) => [now(state)[0].from, now(state).at(-1).to], y: [-PER + 0.5, 100.5], tall: 278, xName: named, yName: "failed, of 100", grid: false, press: (x, _, state) => pick(x, state) }],
  controls: [
    [{ menu: "measure", key: "measure", options: Object.fromEntries(Object.entries(MEASURES).map(([key, [name]]) => [key, String(name)])) }, { button: "The best of the five", main: true, act: (state) => ({ measure: best(state) }), off: (state) => best(state) === state.measure }],
    [{ menu: "neurons", key: "neuron", options: NEURONS }, { menu: "how many", key: "width", options: MANY }],
  ],
  draw(state, [plot]) {
    const found = now(state), here = chosen(found, state.share), step = 1 / unit(state), name = named(state);
    for (let shade = 1; shade <= SHADES / 3 + 1; shade++) {
      plot.areas(found.flatMap(({ from, rows }) => rows.flatMap((v, row) => (Math.ceil(v / 3) === shade ? [[[0, 2], [1, 2], [1, -2.1], [0, -2.1]].map(([x, y]) => [from + x * step, failures(row) + y])] : []))), { color: "blue", opacity: (3 * shade) / SHADES });
    }
    plot.line(found.map((c) => [c.at, c.mean]), { color: "orange" });
    plot.rules([here.from, here.to]);
    plot.handle("the chosen column", here.at, here.mean, (x, _, held) => (held ? pick(x, state) : further(Math.round((x - here.at) / step), state)), { step, words: value(state, here) });
    return [`${name[0].toUpperCase()}${name.slice(1)} ${value(state, here)}: `, [count(here.many, "class", "classes")], ". Of 100 networks ", [`${text(here.mean, 0)} fail`], ` on average, and ${quantile(here, 0.25)} to ${quantile(here, 0.75)} for the middle half of them. Rank correlation over all classes: `, [text(map(state, state.measure)[0])], "."];
  },
  numbers: (state) => ({
    caption: `Failures of 100 networks by ${named(state)}`, head: ["value", "classes", "mean", "a quarter is below", "three quarters are below"],
    rows: now(state).map((c) => [value(state, c), c.many.toLocaleString("en-US"), text(c.mean, 1), String(quantile(c, 0.25)), String(quantile(c, 0.75))]),
  }),
});
