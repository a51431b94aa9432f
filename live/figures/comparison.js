/** A network translated into the words of another one: what comes out, and what the dictionary put in. */
import { dictionary, rows, translated } from "../core/dictionary.js";
import { Random } from "../core/random.js";
import { chain, pieces, value } from "../core/spline.js";
import { count, text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const REACH = 2, X = Array.from({ length: 80 }, (_, i) => -REACH + ((i + 0.5) * 2 * REACH) / 80), TARGET = 10;

/** A source: a straight line, bent upwards or downwards at the places of the state. */
function source({ bends, seed }) {
  const random = new Random(seed), slope = 0.8 * random.normal(), at = random.normal();
  const hinges = [{ beta: 0, mu: slope, side: 1 }, { beta: 0, mu: -slope, side: -1 }, ...bends.map((beta) => ({ beta, mu: Math.sign(random.uniform(-1, 1)) * random.uniform(0.6, 2), side: 1 }))];
  return { hinges, offset: at - value({ hinges, offset: 0 }, 0) };
}
/** A target: ten random neurons that bend in view. Its mean is zero. */
function target({ other }) {
  const random = new Random(other), f = { hinges: Array.from({ length: TARGET }, () => ({ beta: 0.85 * random.uniform(-REACH, REACH), mu: 2 * random.normal(), side: random.uniform() < 0.5 ? -1 : 1 })), offset: 0 };
  return { ...f, offset: -X.reduce((sum, x) => sum + value(f, x), 0) / X.length };
}

/** The rows of both, the translated ones, and which share of the target's variance they explain. */
function compared(state) {
  const f = source(state), g = target(state), mine = rows(pieces(f), X), theirs = rows(pieces(g), X), told = translated(mine, dictionary(mine, theirs)), y = X.map((x) => value(g, x));
  const missed = told.reduce((sum, [slope, constant], p) => sum + (slope * X[p] + constant - y[p]) ** 2, 0);
  return { f, g, mine, theirs, told, share: 1 - missed / y.reduce((sum, v) => sum + v * v, 0) };
}
/** Places with the same row, one after the other: first, last, row. */
function runs(told) {
  const found = [];
  told.forEach((row, p) => (found.length && row.every((v, k) => Math.abs(v - found.at(-1).row[k]) < 1e-6) ? (found.at(-1).last = p) : found.push({ first: p, last: p, row })));
  return found;
}
/** How high the translation is where its pieces begin and end. */
function ends(state) {
  const { told } = compared(state);
  return runs(told).flatMap(({ first, last, row }) => [first, last].map((p) => row[0] * X[p] + row[1]));
}
const span = (list) => [Math.min(...list) - 0.3, Math.max(...list) + 0.3];

export default figure({
  name: "comparison",
  title: "One network in the words of another",
  about: "Above a source, below a target (blue) and the source translated into it (orange): at each of 80 places slope and constant of the source, times the one matrix that brings them nearest to those of the target.",
  hints: ["[Tab] to a bend of the source", "[←] [→] move it", "[Shift] makes large steps"],
  defaults: { bends: [], seed: 1, other: 104 },
  pictures: [
    { label: "The source", x: [-REACH, REACH], y: (state) => span(chain(source(state), REACH).map((p) => p[1])), tall: 150, yName: "the source" },
    { label: "The target and the translation", x: [-REACH, REACH], y: (state) => span([...chain(target(state), REACH).map((p) => p[1]), ...ends(state)]), tall: 250, xName: "x", yName: "the target, and the source translated", fixed: true },
  ],
  controls: [
    [{ button: "Another source", main: true, act: ({ seed }) => ({ seed: seed + 2 }) }, { button: "Another target", act: ({ other }) => ({ other: other + 1 }) }],
    [{ button: "Add a bend", act: ({ bends, seed }) => ({ bends: [...bends, Math.round(100 * new Random(seed + 7 * bends.length).uniform(-1.5, 1.5)) / 100] }), off: ({ bends }) => bends.length > 4 },
      { button: "Take a bend away", act: ({ bends }) => ({ bends: bends.slice(0, -1) }), off: ({ bends }) => !bends.length }],
  ],
  draw(state, [above, below]) {
    const { f, g, mine, told, share } = compared(state), half = REACH / X.length;
    above.line(chain(f, REACH), { color: "ink" });
    state.bends.forEach((x, i) => above.handle(`bend ${i + 1}`, x, value(f, x), (to) => ({ bends: state.bends.map((old, k) => (k === i ? to : old)) })));
    below.line(chain(g, REACH));
    for (const { first, last, row: [slope, constant] } of runs(told)) below.line([X[first] - half, X[last] + half].map((x) => [x, slope * x + constant]), { color: "orange", width: 3 });
    return [`${count(runs(mine).length, "map")} in the source, ${count(runs(told).length, "map")} in its translation, which explains `, [share > 0 ? `${text(100 * share, 0)} %` : "nothing"], " of the target."];
  },
  numbers: (state) => {
    const { mine, theirs, told } = compared(state);
    return { caption: "Slope and constant at some places", head: ["x", "source: slope", "constant", "target: slope", "constant", "translated: slope", "constant"], rows: X.map((x, p) => [x, ...mine[p], ...theirs[p], ...told[p]]).filter((_, p) => p % 8 === 4) };
  },
});
