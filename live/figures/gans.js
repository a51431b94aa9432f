/** A generator with one input that has to hit several targets: the steeper it is between them, the less noise is lost. */
import { below, levels, lost } from "../core/distances.js";
import { Random } from "../core/random.js";
import { text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const REACH = 3, HIGH = 2.6, HALF = 0.3, GAP = 0.4, CELLS = 60, MANY = 100, FEW = 0.01, PILE = REACH + 0.12; // targets are 1 apart and reach 0.3 to both sides
const SLOPES = [2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40, 47, 50, 54, 60, 75, 100];
const BELL = Array.from({ length: 81 }, (_, i) => (i / 40 - 1) * REACH).map((z) => [z, 0.7 * Math.exp((-z * z) / 2) - HIGH]);

const low = (count) => -(count - 1) / 2, box = (x0, x1, y0, y1) => [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
const inside = (c, count) => Math.abs(c - Math.round(c - low(count)) - low(count)) <= HALF && Math.abs(c) <= HALF - low(count);
/** The first slope that loses less than one in a hundred. */
const enough = (count) => SLOPES.find((s) => lost(count, GAP, s) < FEW);

/** The staircase between two heights above its steps, one line for each step; 0 and 1 are the ends of a step. */
const steps = ({ steep, count }, from, to) => levels(count).map((at, k) => [from, to].map((h) => [at + (h - 0.5) / steep, low(count) + k + h]));
/** The share of noise whose sample lies below a height. */
function noise({ steep, count }, height) {
  const k = Math.floor(height - low(count)), at = levels(count);
  if (k < 0) return 0;
  return k >= at.length ? 1 : below(at[k] + (height - low(count) - k - 0.5) / steep);
}
/** The samples by height: bars to the right of the picture, those in a target or those between. */
function heap(state, hit) {
  const bars = Array.from({ length: CELLS }, (_, i) => [0, 1].map((end) => HIGH * ((2 * (i + end)) / CELLS - 1)));
  return bars.filter(([a, b]) => inside((a + b) / 2, state.count) === hit).map(([a, b]) => box(PILE, PILE + Math.min(1.1, (noise(state, b) - noise(state, a)) * state.count), a, b));
}
/** Random noise and the samples that the curve makes of it. */
function samples({ steep, count, drawn, seed }) {
  const random = new Random(seed), at = levels(count);
  return Array.from({ length: drawn }, () => {
    const z = random.normal();
    return [z, at.reduce((sum, v) => sum + Math.max(0, Math.min(1, (z - v) * steep + 0.5)), low(count))];
  });
}

export default figure({
  name: "gans",
  title: "How much falls between the targets?",
  about: "Noise comes in from below, most of it near zero. The curve turns it into samples, to be read off on the left. Blue bands are the targets. "
    + "Where the curve is orange, its samples fall between two targets and are lost. On the right all samples are piled up. Draw some, and count.",
  hints: ["[Tab] to a slider or a button", "[←] [→] move a slider"],
  defaults: { steep: 4, count: 5, drawn: 0, seed: 1 },
  pictures: [{ label: "The curve, the targets and the samples", x: [-REACH, REACH], y: [-HIGH, HIGH], tall: 308, xName: "noise", yName: "sample", spare: 0.16, fixed: true }],
  controls: [
    [{ button: `Draw ${MANY} samples`, main: true, act: ({ seed }) => ({ drawn: MANY, seed: new Random(seed).bits() }) }],
    [{ slider: "slope between targets", key: "steep", values: SLOPES, mark: ({ count }, memory) => memory.told && enough(count) }, { slider: "targets", key: "count", values: [2, 3, 4, 5] }],
  ],
  draw(state, [plot], { told }) {
    const { steep, count, drawn } = state, seen = samples(state), at = levels(count);
    plot.areas(Array.from({ length: count }, (_, k) => box(-REACH, PILE + 2, low(count) + k - HALF, low(count) + k + HALF)), { color: "blue", opacity: 0.15 });
    plot.line(BELL, { color: "soft", width: 1, dashes: "4 3" });
    plot.line([[-REACH, low(count)], ...steps(state, 0, 1).flat(), [REACH, -low(count)]]);
    for (const gap of steps(state, HALF, 1 - HALF)) plot.line(gap, { color: "orange", width: 4.5 });
    for (const hit of [true, false]) {
      plot.areas(heap(state, hit), { color: hit ? "blue" : "orange" });
      plot.dots(seen.filter(([z, c]) => Math.abs(z) <= REACH && inside(c, count) === hit), { color: hit ? "blue" : "orange", size: 3 });
    }
    if (at.some((v, k) => k && (v - at[k - 1]) * steep < 1)) return "The steps run into each other: a steeper curve is needed.";
    return [[`${text(100 * lost(count, GAP, steep), 1)} %`], " of the noise is lost between the targets.", told ? ` From slope ${enough(count)} on, at the tick, less than one in a hundred is.` : "",
      drawn ? ` Of ${drawn} samples ${seen.filter(([, c]) => !inside(c, count)).length} were lost.` : ""];
  },
  numbers: ({ count }) => ({ caption: `Noise that is lost, ${count} targets`, head: ["slope", "lost"], rows: SLOPES.filter((s) => s >= 4 && s <= 40).map((s) => [String(s), `${text(100 * lost(count, GAP, s), 1)} %`]) }),
});
