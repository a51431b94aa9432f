/** XOR and two neurons: every start ends at one of three losses on a line, and at one of four in the plane. */
import { network, parts } from "../core/net.js";
import { Random } from "../core/random.js";
import { chain, own, spline, value } from "../core/spline.js";
import * as square from "../core/square.js";
import { Trainer } from "../core/train.js";
import { count, text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const REACH = 2, X = [-1, 0, 0, 1], Y = [-1, 1, 1, -1], STARTS = 200, STEPS = 4000, RATE = 0.01;
const LOSSES = [0, 8 / 3, 4], SIDE = 0.2, WIDE = 4, HIGH = 1.8, PLANE_RATE = 0.05; // the sides of the plane, and of a coloured square in it

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

/** The same for nine numbers in the plane. */
const makePlane = (plane) => new Trainer({ sizes: [2, 2, 1], theta: Float64Array.from(plane), leak: 0 }, square.CORNERS.flat(), square.XOR, { loss: "half_sum", optimizer: "gd", rate: PLANE_RATE });
const drawnPlane = (random) => Array.from({ length: 9 }, () => random.uniform(-Math.SQRT1_2, Math.SQRT1_2)); // two inputs and two neurons: one fan-in

function stepPlane({ plane }, memory) {
  memory.trainer ??= makePlane(plane);
  const { theta } = memory.trainer.net, before = [...theta];
  memory.trainer.step();
  memory.rest = !theta.some((v, k) => Math.abs(v - before[k]) > 1e-10);
  return !memory.rest && { plane: [...theta] };
}

/** Two hundred steps of one of the dropped starts, then of the next one. */
function fall({ data }, memory) {
  memory.left ||= memory.now ? 0 : STARTS;
  if (!memory.now) {
    memory.left--;
    memory.now = data === "plane" ? makePlane(drawnPlane(memory.random)) : make(drawn(memory.random));
  }
  for (let k = 0; k < 200; k++) memory.now.step();
  if (memory.now.steps >= STEPS) {
    memory.ends.push(2 * memory.now.loss()); // the sum of squares, not half of it
    memory.now = null;
  }
  return (memory.left > 0 || memory.now) && {};
}

function tally(ends, losses = LOSSES) {
  const level = (e) => losses.findIndex((l) => Math.abs(l - e) < 0.01), rest = ends.filter((e) => level(e) < 0).length;
  const found = losses.map((l, k) => `${ends.filter((e) => level(e) === k).length} at ${l % 1 ? "8/3" : l}`);
  return `${count(ends.length, "start")}: ${found.join(", ")}${rest ? `, ${rest} still on the way` : ""}.`;
}

/** The plane: what the network says in colours, the lines of its two neurons, thick on the side where they are on, and the corners. */
function drawPlane({ plane }, [plot, below], { trainer, ends, rest, told }) {
  const now = square.loss(plane), rows = [];
  for (let y = HIGH; y > -HIGH + SIDE / 2; y -= SIDE) rows.push(Array.from({ length: Math.round((2 * WIDE) / SIDE) }, (_, k) => square.said(plane, [-WIDE + (k + 0.5) * SIDE, y - SIDE / 2])));
  plot.cells(-WIDE, HIGH, SIDE, rows, 1.5);
  [0, 1].forEach((i) => {
    const [a, b] = plane.slice(2 * i, 2 * i + 2), size = Math.hypot(a, b);
    if (!size) return;
    const inward = plane.map((v, k) => (k === 4 + i ? v - 0.05 * size : v));
    plot.line(square.crease(inward, i, WIDE), { color: "ink", width: 6, opacity: 0.25 });
    plot.line(square.crease(plane, i, WIDE), { color: "ink", width: 1.5 });
    const foot = [a, b].map((v) => (-plane[4 + i] * v) / size ** 2);
    plot.handle(`line of neuron ${i + 1}`, foot[0], foot[1], (x, y) => ({ plane: square.through(plane, i, [x, y]) }), { color: "orange", size: 7 });
  });
  for (const kind of [1, -1]) plot.dots(square.CORNERS.filter((_, k) => square.XOR[k] === kind), { kind: "square", color: kind > 0 ? "orange" : "blue", size: 7 });
  fallen(below, ends, now, ends.length || told ? square.LOSSES : []);
  const end = square.ending(now), steps = trainer ? `, ${count(trainer.steps, "step")}` : "";
  return `${rest ? "It has come to rest. " : ""}Loss ${text(now, 3)}${steps}.${end && trainer ? ` ${end}.` : ""}${ends.length ? ` ${tally(ends, square.LOSSES)}` : ""}`;
}

/** The losses at which starts ended, in columns, with lines where training rests, and the loss now. */
function fallen(below, ends, now, losses) {
  const columns = {}, dots = ends.map((e) => Math.round(Math.min(e, 5) * 12)).map((k) => [k / 12, (columns[k] = (columns[k] ?? 0) + 1)]), most = Math.max(20, ...Object.values(columns));
  below.rules(losses);
  if (losses.length) below.text(8 / 3 + 0.04, 0.87, "8/3");
  below.dots(dots.map(([x, level]) => [x, (level - 0.5) / most]), { color: "blue", size: Math.max(1.2, Math.min(3.5, below.view.box.height / most / 2)) });
  below.dots([[Math.min(5, now), 0]], { color: "orange", size: 6 });
}

export default figure({
  name: "optima",
  title: "Where does training of XOR end?",
  about: "Two neurons are to pass through (−1, −1), (0, 1) twice and (1, −1): XOR, put on a line. Thin lines show what each neuron adds. Drag the two bends, train, or drop 200 random starts "
    + "and see at which loss each ends. In the plane the data are the four corners of a square, colours are what the network says, and each neuron has a line, thick on the side where it is on.",
  hints: ["[Tab] goes from bend to bend", "[←] [→] move it", "[Shift] makes large steps"],
  defaults: { w: [0.8, -0.6], b: [0.7, 0.3], o: [-0.5, 0.4], c: 0.1, seed: 1, data: "line", plane: [0.6, 0.2, -0.3, 0.5, 0.2, -0.3, 0.5, 0.4, -0.1] },
  memory: ({ seed, data }) => ({ data, random: new Random(seed), ends: [], trainer: null, left: 0, now: null, rest: false }),
  changed({ data }, memory) {
    memory.trainer = null;
    memory.rest = false;
    if (data !== memory.data) Object.assign(memory, { data, ends: [], left: 0, now: null });
  },
  pictures: [
    { label: "The data, and what two neurons make of them", x: ({ data }) => (data === "plane" ? [-WIDE, WIDE] : [-REACH, REACH]), y: ({ data }) => (data === "plane" ? [-HIGH, HIGH] : [-2.2, 2.2]), tall: 260 },
    { label: "The losses at which the starts ended", x: [0, 5], y: [0, 1], tall: 110, xName: "loss at the end, summed over the four points", yTicks: false, fixed: true },
  ],
  controls: [[
    { play: "Train", step: (state, memory) => (state.data === "plane" ? stepPlane : step)(state, memory), perFrame: 12, most: 20000, stepSize: 10 },
    { button: "Another start", act: ({ data }, { random }) => ({ ...(data === "plane" ? { plane: drawnPlane(random) } : drawn(random)), seed: random.bits() }) },
    { play: `Drop ${STARTS} starts`, step: fall, perFrame: 40, most: 1e6, plain: true },
  ], [{ menu: "XOR", key: "data", options: { line: "on a line", plane: "in the plane" } }]],
  draw(state, painters, memory) {
    if (state.data === "plane") return drawPlane(state, /** @type {[any, any]} */ (/** @type {any} */ (painters)), memory);
    const [plot, below] = painters, { trainer, ends, rest, told } = memory, f = hinged(state), now = loss(f);
    plot.faint(own(f, REACH));
    plot.line(chain(f, REACH));
    plot.dots(X.map((x, p) => [x, Y[p]]), { kind: "square" });
    f.hinges.forEach((h, i) => plot.handle(`bend ${i + 1}`, h.beta, value(f, h.beta), (x) => ({ b: state.b.map((b, k) => (k === i ? -state.w[k] * x : b)) }), { color: "orange", size: 7 }));
    fallen(below, ends, now, ends.length || told ? LOSSES : []); // the answer comes after the guess
    const places = f.hinges.map((h) => text(Math.round(1e4 * h.beta) / 1e4)).join(" and ");
    return `${rest ? "It has come to rest. " : ""}Loss ${text(now, 3)}, bends at ${places}${trainer ? `, ${count(trainer.steps, "step")}` : ""}.${ends.length ? ` ${tally(ends)}` : told ? " Training ends at 0, 8/3 or 4, the dashed lines." : ""}`;
  },
  numbers: ({ w, b, o, c, data, plane }) => (data === "plane" ? {
    caption: `v(p, q) = sum of o · max(w₁p + w₂q + b, 0) + c, with c = ${text(plane[8], 4)}`, head: ["neuron", "w₁", "w₂", "b", "o"],
    rows: [0, 1].map((i) => [String(i + 1), plane[2 * i], plane[2 * i + 1], plane[4 + i], plane[6 + i]]),
  } : { caption: `f(x) = sum of o · max(wx + b, 0) + c, with c = ${text(c, 4)}`, head: ["neuron", "w", "b", "o"], rows: [0, 1].map((i) => [String(i + 1), w[i], b[i], o[i]]) }),
});
