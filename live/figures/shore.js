/** Water rises in a valley that three neurons make: its shore is the fence of a network. */
import { depth, shore } from "../core/shore.js";
import { count, text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const LOW = 1.05, TOP = 3.5, STEP = 0.005, COLORS = ["blue", "orange", "green"], DASHES = ["", "9 4", "2 3"];
const RAMPS = [{ row: [1, 0], bias: 0, push: 3 }, { row: [0, 1], bias: 0, push: 2 }, { row: [-1, -1], bias: 1, push: 1 }];
const LINES = [[[0, -9], [0, 9]], [[-9, 0], [9, 0]], [[-9, 10], [9, -8]]], CROSSINGS = [[0, 0], [0, 1], [1, 0]];

/** Where the water stands, in words. */
function words({ level }) {
  const corners = shore(RAMPS, level), on = CROSSINGS.find((p) => Math.abs(depth(RAMPS, p) - level) < 1e-9), wet = CROSSINGS.filter((p) => depth(RAMPS, p) < level - 1e-9).length;
  return [`Water at ${text(level)}: `, [count(corners.length, "corner")], on ? ". The shore passes through a crossing of two creases." : `. ${count(wet, "crossing")} of two creases ${wet > 1 ? "are" : "is"} under water.`];
}

export default figure({
  name: "shore",
  title: "Water rises in a valley",
  about: "The straight lines are the creases of three neurons. Between them the height of the valley is a straight map, and the heavy line is the shore. Raise the water.",
  hints: ["[Tab] goes from control to control", "[←] [→] move the slider"],
  defaults: { level: 1.25 },
  memory: () => ({ full: false }),
  changed: (_, memory) => {
    memory.full = false;
  },
  pictures: [{ label: "The creases and the shore", x: [-3.8, 2.4], y: [-3.6, 2.4], tall: 330, ratio: 6 / 6.2, bare: true, fixed: true }],
  controls: [
    [{
      play: "Raise the water", perFrame: 1,
      step({ level }, memory) {
        if (level < TOP) return { level: Math.round((level + STEP) * 1000) / 1000 };
        memory.full = !memory.full; // it stops when it is full, and begins again after that
        return !memory.full && { level: LOW };
      },
    }],
    [{ slider: "level of the water", key: "level", values: Array.from({ length: 99 }, (_, k) => Math.round(1000 * (LOW + k / 40)) / 1000), show: (v) => text(v) }],
  ],
  draw(state, [plot]) {
    const corners = shore(RAMPS, state.level), around = corners.map((c) => c.at);
    plot.area(around, { color: "tint-a" });
    LINES.forEach((line, i) => plot.line(line, { color: COLORS[i], width: 1.8, dashes: DASHES[i] }));
    plot.line([...around, around[0]], { color: "ink", width: 3 });
    plot.dots(around, { size: 6 });
    return words(state);
  },
  numbers: ({ level }) => ({ caption: "The corners of the shore", head: ["corner", "x", "y", "on crease"], rows: shore(RAMPS, level).map(({ at, on }, k) => [k + 1, ...at, on.map((i) => i + 1).join(" and ")]) }),
});
