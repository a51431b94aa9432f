/** Ten linear maps inside a network that reads small digits: train it, paint, and see what each pixel counts for each answer. */
import { digits, LABELS } from "../core/digits.js";
import { affine, network, outputs, preactivations } from "../core/net.js";
import { Random } from "../core/random.js";
import { Trainer } from "../core/train.js";
import { count } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const SIDE = 8, WIDTH = 16, MOST = 300, STEP = 9.2, DOWN = 11, RATES = { gd: 0.5, adam: 0.02 };
const X = digits(), FLAT = Float64Array.from(X.flat()), Y = LABELS.flatMap((k) => Array.from({ length: 10 }, (_, i) => +(i === k)));
const SIZES = { linear: [64, 10], dense: [64, WIDTH, 10] };

/** The network of a state; its training is run again where it is another one, or an earlier moment of it. */
function trained({ kind, optimizer, seed, steps }, memory) {
  const key = `${kind} ${optimizer} ${seed}`;
  if (memory.key !== key || memory.trainer.steps > steps) Object.assign(memory, { key, trainer: new Trainer(begin(SIZES[kind], new Random(seed)), FLAT, Y, { loss: "cross_entropy", optimizer, rate: RATES[optimizer] }) });
  while (memory.trainer.steps < Math.min(MOST, steps)) memory.trainer.step();
  return memory.trainer.net;
}

/** Weights and biases as torch draws them. */
function begin(sizes, random) {
  const drawn = (n, fan) => Array.from({ length: n }, () => random.uniform(-1, 1) / Math.sqrt(fan)), of = (make) => sizes.slice(1).map((out, l) => make(out, sizes[l]));
  return network(of((out, fan) => Array.from({ length: out }, () => drawn(fan, fan))), of(drawn));
}

const best = (f) => f.indexOf(Math.max(...f));
const shown = ({ digit, ink }) => (ink.length ? ink : X[digit]);
const chopped = (flat) => Array.from({ length: SIDE }, (_, r) => flat.slice(SIDE * r, SIDE * r + SIDE));
/** Paint a pixel, or wipe it. */
const painted = (state, r, c, v) => ({ brush: [r, c], ink: shown(state).map((old, k) => (k === SIDE * r + c ? v : old)) });
const cell = (v) => Math.max(0, Math.min(SIDE - 1, Math.floor(v)));

export default figure({
  name: "images",
  title: "Ten pictures inside a network",
  about: "First, what the network reads. Then, for each answer, the linear map that is in force there: orange pixels count for the answer, blue ones against it. Train it on 300 small digits, then paint.",
  hints: ["[Tab] to the brush", "arrows move it", "[Enter] paints a pixel or wipes it"],
  defaults: { kind: "dense", optimizer: "gd", steps: 0, seed: 1, digit: 1, ink: [], brush: [4, 4] },
  memory: () => ({ key: "", trainer: null }),
  pictures: [
    { label: "The digit, to be painted", x: [0, SIDE], y: [0, SIDE], tall: 200, part: 0.3, ratio: 1, bare: true, press: (x, y, state) => paint(state, cell(SIDE - y), cell(x)) },
    { label: "The ten maps", x: [0, 5 * STEP - 1.2], y: [0, 2 * DOWN], tall: 250, part: 0.68, ratio: 0.5, bare: true, fixed: true },
  ],
  controls: [
    [{ play: "Train", step: (state, memory) => {
      if (state.steps >= MOST) return false;
      trained({ ...state, steps: state.steps + 1 }, memory);
      return { steps: state.steps + 1 };
    }, perFrame: 4, most: MOST, stepSize: 10 },
    { button: "Another digit", act: ({ digit }) => ({ digit: (digit + 1) % X.length, ink: [] }) }],
    [{ menu: "network", key: "kind", options: { dense: `${WIDTH} neurons`, linear: "linear" } }, { menu: "trained by", key: "optimizer", options: { gd: "gradient descent", adam: "Adam" } },
      { button: "Before training", act: () => ({ steps: 0 }), off: ({ steps }) => !steps }],
  ],
  draw(state, [board, maps], memory) {
    const net = trained(state, memory), x = shown(state), f = [...outputs(net, x)], all = affine(net, x).map((row) => row.slice(0, -1)), [r, c] = state.brush;
    board.cells(0, SIDE, 1, chopped(x), 1, ["ink", "ink"]);
    board.handle("brush", c + 0.5, SIDE - r - 0.5, (px, py, held) => (held && (cell(SIDE - py) !== r || cell(px) !== c) ? painted(state, cell(SIDE - py), cell(px), 1) : { brush: [cell(SIDE - py), cell(px)] }), {
      step: 1, color: "orange", kind: "diamond", size: 5, act: () => paint(state, r, c), words: `row ${r + 1}, column ${c + 1}, ${x[SIDE * r + c] ? "ink" : "no ink"}`,
    });
    const most = Math.max(1e-9, ...all.flat().map(Math.abs));
    all.forEach((row, k) => {
      const left = STEP * (k % 5), top = DOWN * (2 - Math.floor(k / 5)) - 2.4;
      maps.cells(left, top, 1, chopped(row), most);
      maps.text(left, top + 0.5, `${k}: ${String(Math.round(f[k])).replace("-", "−")}${k === best(f) ? " ◂" : ""}`);
    });
    const on = state.kind === "dense" ? ` ${preactivations(net, x)[0].filter((v) => v > 0).length} of ${WIDTH} neurons are on.` : " Nothing in it switches.";
    const right = outputs(net, FLAT), good = LABELS.filter((k, p) => best([...right.subarray(10 * p, 10 * p + 10)]) === k).length;
    return [`${state.steps ? `After ${count(state.steps, "step")} it` : "Before training it"} reads a `, [String(best(f))], `.${on} Of 300 digits ${good} are read right.`];
  },
  numbers: (state, memory) => {
    const net = trained(state, memory), x = shown(state), f = outputs(net, x);
    return { caption: "The answers: map times digit, plus the constant", head: ["answer", "map times digit", "constant", "output"], rows: affine(net, x).map((row, k) => [String(k), row.slice(0, -1).reduce((sum, a, i) => sum + a * x[i], 0), row[64], f[k]]) };
  },
});

/** What a press does to a pixel: ink where there was little, none where there was much. */
function paint(state, r, c) {
  return painted(state, r, c, shown(state)[SIDE * r + c] < 0.5 ? 1 : 0);
}
