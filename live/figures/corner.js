/** One new neuron with its crease through a point of the boundary: the corner that it folds there. */
import { network } from "../core/net.js";
import { boundary, clip, regions } from "../core/regions.js";
import { text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const AT = [0.2, 0], LONG = 0.6, MOST = 150, DEGREE = Math.PI / 180, FRAME = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
const limited = (angle) => Math.max(-MOST, Math.min(MOST, Math.round(angle)));
/** The input weights of the new neuron. */
const row = ({ angle }) => [Math.sin(angle * DEGREE), Math.cos(angle * DEGREE)];

/** A boundary that bends at 0.6, and the new neuron. */
function made(state) {
  const [a, b] = row(state);
  return network([[[1, 0], [0, 1], [0, -1], [a, b]], [[0.8, 1, -1, state.strength]]], [[-0.6, 0, 0, -a * AT[0] - b * AT[1]], [0]]);
}
/** By how many degrees the boundary turns at the point: the new neuron adds a multiple of its row to the normal (0, 1). */
function fold(state) {
  const [a, b] = row(state);
  return Math.abs(Math.atan2(-state.strength * a, 1 + state.strength * b)) / DEGREE;
}

export default figure({
  name: "corner",
  title: "One neuron, one corner",
  about: "The heavy line is the boundary between two classes. The dashed line is the crease of a new neuron, which is on where the paper is shaded. Drag the square to turn the crease.",
  hints: ["[Tab] to the crease", "arrow keys turn it", "[Shift] makes large steps"],
  defaults: { angle: 45, strength: 1 },
  memory: () => ({ way: 1, left: 4 * MOST }),
  pictures: [{ label: "The boundary and the crease of the new neuron", x: [-1, 1], y: [-1, 1], tall: 330, ratio: 1, bare: true }],
  controls: [
    [{
      play: "Turn it around", perFrame: 1, most: 30, ended: (memory) => Object.assign(memory, { left: 4 * MOST }),
      step({ angle }, memory) {
        if (Math.abs(angle + memory.way) > MOST) memory.way *= -1;
        return memory.left-- > 0 && { angle: angle + memory.way };
      },
    }],
    [
      { slider: "angle", key: "angle", values: Array.from({ length: 2 * MOST + 1 }, (_, k) => k - MOST), show: (v) => `${text(v, 0)}°` },
      { slider: "strength", key: "strength", values: Array.from({ length: 25 }, (_, k) => (k + 1) / 10) },
    ],
  ],
  draw(state, [plot]) {
    const [a, b] = row(state), end = [AT[0] + LONG * b, AT[1] - LONG * a], far = [-3, 3].map((t) => [AT[0] + t * b, AT[1] - t * a]), { angle } = state;
    plot.area(clip(FRAME, FRAME.map(([x, y]) => a * (x - AT[0]) + b * (y - AT[1]))), { color: "tint-b" });
    plot.line(far, { color: "soft", width: 2, dashes: "7 4" });
    for (const piece of boundary(regions(made(state), FRAME))) plot.line(piece, { color: "blue", width: 3.5 });
    plot.dots([AT], { color: "orange", size: 7 });
    plot.handle("crease", end[0], end[1], (x, y, held) => {
      if (held) return { angle: limited(Math.atan2(AT[1] - y, x - AT[0]) / DEGREE) };
      const [dx, dy] = [x - end[0], y - end[1]], by = Math.abs(dx) > Math.abs(dy) ? dx : dy; // a key turns it, whatever way it points
      return { angle: limited(angle + Math.sign(by) * (Math.abs(by) > 0.1 ? 15 : 1)) };
    }, { kind: "square", color: "ink", size: 7, words: `turned by ${text(angle, 0)} degrees` });
    return angle ? [`Turned by ${text(angle, 0)}°, strength ${text(state.strength, 1)}: at the point the boundary turns by `, [`${text(fold(state), 1)}°`], "."] : "The crease lies on the boundary: no corner.";
  },
  numbers: ({ strength }) => ({ caption: `What the new neuron folds, at strength ${text(strength, 1)}`, head: ["turned by", "corner, in degrees"], rows: [0, 15, 30, 45, 60, 75, 90, 120, 150].map((angle) => [`${angle}°`, fold({ angle, strength })]) }),
});
