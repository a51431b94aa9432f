/** XOR on a line and two neurons: every start ends at one of three losses. */
import { network, parts } from "../core/net.js";
import { Random } from "../core/random.js";
import { chain, own, spline, value } from "../core/spline.js";
import { Trainer } from "../core/train.js";
import { count, text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const REACH = 2, X = [-1, 0, 0, 1], Y = [-1, 1, 1, -1], STARTS = 200, STEPS = 4000, RATE = 0.01;
const LEVELS = { 0: "0", 1: "8/3", 2: "4" }, LOSSES = [0, 8 / 3, 4];

const hinged = ({ w, b, o, c }) => spline(w, b, o, c);
const loss = (f) => X.reduce((sum, x, p) => sum + (value(f, x) - Y[p]) ** 2, 0);
const make = ({ w, b, o, c }) => new Trainer(network([w.map((a) => [a]), [o]], [b, [c]]), X, Y, { loss: "half_sum", optimizer: "gd", rate: RATE });

/** torch's default: uniform on ±1/sqrt(fan-in), biases too. */
function drawn(random) {
  const two = (reach) => [0, 1].map(() => random.uniform(-reach, reach)), root = Math.SQRT1_2;
  return { w: two(1), b: two(1), o: two(root), c: random.uniform(-root, root) };
}

/** One step of training; nothing where it has come to rest. */
function step(state, memory) {
  memory.trainer ??= make(state);
  const before = [...memory.trainer.net.theta];
  memory.trainer.step();
  memory.rest = !memory.trainer.net.theta.some((v, k) => Math.abs(v - before[k]) > 1e-10);
  const { weights, biases } = parts(memory.trainer.net);
  return !memory.rest && { w: weights[0].map((w) => w[0]), b: biases[0], o: weights[1][0], c: biases[1][0] };
}

/** Two hundred steps of one of the dropped starts, then of the next one. */
function fall(_, memory) {
  memory.left ||= memory.now ? 0 : STARTS;
  if (!memory.now) {
    memory.left--;
    memory.now = make(drawn(memory.random));
  }
  for (let k = 0; k < 200; k++) memory.now.step();
  if (memory.now.steps >= STEPS) {
    memory.ends.push(2 * memory.now.loss()); // the sum of squares, not half of it
    memory.now = null;
  }
  return (memory.left > 0 || memory.now) && {};
}

function tally(ends) {
  const level = (e) => LOSSES.findIndex((l) => Math.abs(l - e) < 0.01), rest = ends.filter((e) => level(e) < 0).length;
  const found = Object.keys(LEVELS).map((k) => `${ends.filter((e) => level(e) === Number(k)).length} at ${LEVELS[k]}`);
  return `${count(ends.length, "start")}: ${found.join(", ")}${rest ? `, ${rest} still on the way` : ""}.`;
}

export default figure({
  name: "optima",
  title: "Where does training of XOR end?",
  about: "Two neurons are to pass through (−1, −1), (0, 1) twice and (1, −1): XOR, put on a line. Thin lines show what each neuron adds. Drag the two bends, train, or drop 200 random starts "
    + "and see at which loss each ends.",
  hints: ["[Tab] goes from bend to bend", "[←] [→] move it", "[Shift] makes large steps"],
  defaults: { w: [0.8, -0.6], b: [0.7, 0.3], o: [-0.5, 0.4], c: 0.1, seed: 1 },
  memory: ({ seed }) => ({ random: new Random(seed), ends: [], trainer: null, left: 0, now: null, rest: false }),
  changed(_, memory) {
    memory.trainer = null;
    memory.rest = false;
  },
  pictures: [
    { label: "The data, the curve and its bends", x: [-REACH, REACH], y: [-2.2, 2.2], tall: 260 },
    { label: "The losses at which the starts ended", x: [0, 5], y: [0, 1], tall: 110, xName: "loss at the end, summed over the four points", yTicks: false, fixed: true },
  ],
  controls: [[
    { play: "Train", step, perFrame: 12, most: 20000, stepSize: 10 },
    { button: "Another start", act: (_, { random }) => ({ ...drawn(random), seed: random.bits() }) },
    { play: `Drop ${STARTS} starts`, step: fall, perFrame: 40, most: 1e6, plain: true },
  ]],
  draw(state, [plot, below], { trainer, ends, rest }) {
    const f = hinged(state), now = loss(f), columns = {};
    plot.faint(own(f, REACH));
    plot.line(chain(f, REACH));
    plot.dots(X.map((x, p) => [x, Y[p]]), { kind: "square" });
    f.hinges.forEach((h, i) => plot.handle(`bend ${i + 1}`, h.beta, value(f, h.beta), (x) => ({ b: state.b.map((b, k) => (k === i ? -state.w[k] * x : b)) }), { color: "orange", size: 7 }));
    const dots = ends.map((e) => [Math.round(Math.min(e, 5) * 12), 0]).map(([k]) => [k / 12, (columns[k] = (columns[k] ?? 0) + 1)]), most = Math.max(20, ...Object.values(columns));
    if (ends.length) { // the answer comes after the guess
      below.rules(LOSSES);
      below.text(8 / 3 + 0.04, 0.87, "8/3");
    }
    below.dots(dots.map(([x, level]) => [x, (level - 0.5) / most]), { color: "blue", size: Math.max(1.2, Math.min(3.5, below.view.box.height / most / 2)) });
    below.dots([[Math.min(5, now), 0]], { color: "orange", size: 6 });
    const places = f.hinges.map((h) => text(Math.round(1e4 * h.beta) / 1e4)).join(" and ");
    return `${rest ? "It has come to rest. " : ""}Loss ${text(now, 3)}, bends at ${places}${trainer ? `, ${count(trainer.steps, "step")}` : ""}.${ends.length ? ` ${tally(ends)}` : ""}`;
  },
  numbers: ({ w, b, o, c }) => ({ caption: `f(x) = sum of o · max(wx + b, 0) + c, with c = ${text(c, 4)}`, head: ["neuron", "w", "b", "o"], rows: [0, 1].map((i) => [String(i + 1), w[i], b[i], o[i]]) }),
});
