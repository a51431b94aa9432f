/** The neurons that theory calls best for a few images: what they look at, and what they are worth on other images. */
import { digits, LABELS } from "../core/digits.js";
import { granted, neurons, wishes } from "../core/wishes.js";
import { count, text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const SIDE = 8, HALF = 150, MANY = Array.from({ length: 15 }, (_, k) => 10 * (k + 1)), RIDGES = [1e-6, 1e-5, 1e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1];
const X = digits(), ASKED = wishes(LABELS);
const percent = (v) => `${text(100 * v, 0)} %`;

/** What is granted on the images that were looked at and on fresh ones, for each number of images; once for each ridge. */
const curves = (ridge, memory) => (memory[ridge] ??= MANY.map((n) => {
  const [x, asked] = [X, ASKED].map((all) => all.slice(0, n)), { map, found } = neurons(x, asked, ridge);
  return { n, seen: granted(map, x, asked), fresh: granted(map, X.slice(HALF), ASKED.slice(HALF)), found };
}));
const at = (images) => Math.max(0, Math.min(MANY.length - 1, Math.round(images / 10) - 1));
/** The pixel that counts most, and in how many images there is ink in it. */
function loudest(reads, n) {
  const size = reads.slice(0, -1).map(Math.abs), k = size.indexOf(Math.max(...size));
  return { k, lit: X.slice(0, n).filter((x) => x[k] > 0).length };
}

export default figure({
  name: "mnist",
  title: "What is the best neuron worth on other images?",
  about: "First, what one of the best new neurons reads; its loudest pixel is framed. Then, how much of what images ask for the new neurons grant: "
    + "on the images they were made for, and on 150 others. Below zero they do harm.",
  hints: ["[Tab] to the square", "[←] [→] more images or fewer", "[Tab] on to the ridge"],
  defaults: { images: 60, ridge: 1e-6, neuron: 1 },
  pictures: [
    { label: "What the neuron reads", x: [0, SIDE], y: [0, SIDE], tall: 200, part: 0.32, ratio: 1, bare: true, fixed: true },
    { label: "What is granted", x: [0, 155], y: [-1, 1.05], tall: 240, part: 0.68, ratio: 0.5, xName: "images that were looked at", yName: "granted, 1 is all" },
  ],
  controls: [
    [{ button: "Ten more images", main: true, act: ({ images }) => ({ images: Math.min(HALF, images + 10) }), off: ({ images }) => images >= HALF }, { button: "Ten fewer", act: ({ images }) => ({ images: Math.max(10, images - 10) }), off: ({ images }) => images <= 10 }],
    [{ slider: "ridge", key: "ridge", values: RIDGES, show: (v) => (v < 0.001 ? (v > 1e-6 ? v.toExponential().replace("-", "−") : "almost none") : String(v)) }, { slider: "neuron", key: "neuron", values: [1, 2, 3, 4, 5] }],
  ],
  draw({ images, ridge, neuron }, [pixels, plot], memory) {
    const all = curves(ridge, memory), now = all[at(images)], { reads } = now.found[neuron - 1], { k, lit } = loudest(reads, now.n), row = Math.floor(k / SIDE), column = k % SIDE;
    pixels.cells(0, SIDE, 1, Array.from({ length: SIDE }, (_, r) => reads.slice(SIDE * r, SIDE * r + SIDE)), Math.abs(reads[k]));
    pixels.line([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]].map(([x, y]) => [column + x, SIDE - row - 1 + y]), { color: "ink", width: 2.5 });
    plot.line([[0, 0], [155, 0]], { color: "soft", width: 1 });
    plot.rules([now.n]);
    for (const [key, color] of [["seen", "blue"], ["fresh", "orange"]]) plot.line(all.map((p) => [p.n, p[key]]), { color });
    const line = (20 * 2.05) / plot.view.box.height, last = all.at(-1);
    plot.text(152, last.seen - line, "on these", "end");
    plot.text(152, Math.max(-0.96, last.fresh - line), "on others", "end");
    if (now.fresh > -1) plot.dots([[now.n, now.fresh]], { color: "orange" });
    plot.handle("images that are looked at", now.n, now.seen, (x) => ({ images: 10 * (at(x) + 1) }), { kind: "square", color: "blue", step: 10, words: count(now.n, "image") });
    return [`Of what these ${now.n} images ask for the neurons grant `, [percent(now.seen)], ", of what others ask ", [percent(now.fresh)], `. The loudest pixel is lit in ${lit} of ${count(now.n, "image")}.`];
  },
  numbers: ({ ridge }, memory) => ({ caption: `Granted, with a ridge of ${ridge}`, head: ["images", "on these", "on others", "loudest pixel lit in"], rows: curves(ridge, memory).map((p) => [String(p.n), p.seen, p.fresh, String(loudest(p.found[0].reads, p.n).lit)]) }),
});
