/** Many slopes, one direction: turn it, and see how much of an output one number explains. */
import { affine, network, outputs } from "../core/net.js";
import { along, explained, leading, moments } from "../core/looks.js";
import { Random } from "../core/random.js";
import { text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const POINTS = 300, BINS = 15, WIDTH = 6, GRID = 28, DEGREE = Math.PI / 180, REACH = 0.72, TIP = 0.94;
const LOOKS = { valley: "a valley", ramp: "a bent ramp", random: "six random neurons" };

/** Random points of the square. */
const points = (() => {
  const random = new Random(3);
  return Array.from({ length: POINTS }, () => [random.uniform(-1, 1), random.uniform(-1, 1)]);
})();

/** The functions, each a network: a valley along some axis, a curve of one number, or random neurons. */
function made({ look, seed }) {
  const random = new Random(seed), turn = random.uniform(0, Math.PI), c = Math.cos(turn), s = Math.sin(turn);
  if (look === "valley") return network([[[3 * c, 3 * s], [-3 * c, -3 * s], [-s, c], [s, -c]], [[1, 1, 1, 1]]], [[0, 0, 0, 0], [0]]);
  if (look === "ramp") return network([[[c, s], [c, s], [-s, c]], [[1, 2, 0.25]]], [[1, -0.3, 0], [0]]);
  const normal = (n, scale = 1) => Array.from({ length: n }, () => scale * random.normal());
  return network([Array.from({ length: WIDTH }, () => normal(2)), [normal(WIDTH)]], [normal(WIDTH, 0.5), [0]]);
}

/** All that does not hang on the angle, once for each function. */
function known(state, memory) {
  const key = `${state.look} ${state.seed}`;
  if (memory.key !== key) {
    const net = made(state), slopes = points.map((p) => affine(net, p)[0].slice(0, 2)), of = moments(slopes), side = Array.from({ length: GRID }, (_, k) => -1 + (2 * k + 1) / GRID);
    const f = [...outputs(net, points.flat())], land = [...side].reverse().map((y) => [...outputs(net, side.flatMap((x) => [x, y]))]), low = Math.min(...land.flat()), high = Math.max(...land.flat());
    Object.assign(memory, { key, slopes, of, f, land: land.map((row) => row.map((v) => v - low)), range: [low, high], best: leading(of) / DEGREE });
  }
  return memory;
}
const share = (t, f) => Math.max(0, explained(t, f, BINS));
const places = (angle) => points.map((p) => p[0] * Math.cos(angle * DEGREE) + p[1] * Math.sin(angle * DEGREE));

export default figure({
  name: "sensitivity",
  title: "One direction out of many",
  about: "First, a function of two numbers, seen from above, and its slope at some points. Turn the arrow. Then, the same function by the place along the arrow: the thinner the cloud, the more this one number tells.",
  hints: ["[Tab] to the end of the arrow", "arrow keys turn it", "[Shift] makes large steps"],
  defaults: { look: "valley", seed: 4, angle: 90 },
  memory: () => ({ key: "" }),
  pictures: [
    { label: "The function from above, and the arrow", x: [-1, 1], y: [-1, 1], tall: 240, part: 0.4, ratio: 1, bare: true },
    { label: "The output by the place along the arrow", x: [-1.5, 1.5], y: (state, memory) => known(state, memory).range, tall: 262, part: 0.6, ratio: 0.7, xName: "place along the arrow", yName: "output", fixed: true },
  ],
  controls: [
    [{ button: "Turn to the leading direction", main: true, act: (state, memory) => ({ angle: Math.round(known(state, memory).best) }) }, { button: "Another one", act: ({ seed }) => ({ seed: (seed * 7919 + 1) % 100003 }) }],
    [{ menu: "function", key: "look", options: LOOKS }],
  ],
  draw(state, [above, cloud], memory) {
    const { slopes, of, f, land, range, best } = known(state, memory), { angle } = state, t = places(angle), long = Math.max(...slopes.map((g) => Math.hypot(...g))), w = [Math.cos(angle * DEGREE), Math.sin(angle * DEGREE)];
    above.cells(-1, 1, 2 / GRID, land, 1.6 * (range[1] - range[0]), ["blue", "blue"]);
    for (let p = 0; p < 40; p++) above.line([points[p], points[p].map((v, i) => v + (0.16 * slopes[p][i]) / long)], { color: "soft", width: 1.5 });
    above.dots(points.slice(0, 40), { color: "soft", size: 1.8 });
    above.line([w.map((v) => -REACH * v), w.map((v) => TIP * v)], { color: "orange", width: 3 });
    above.line([1, 0, -1].map((side) => [w[0] * (TIP - 0.1 * side * side) - 0.07 * side * w[1], w[1] * (TIP - 0.1 * side * side) + 0.07 * side * w[0]]), { color: "orange", width: 3 });
    above.handle("direction", REACH * w[0], REACH * w[1], (x, y, held) => {
      if (held) return { angle: Math.round(Math.atan2(y, x) / DEGREE) };
      const [dx, dy] = [x - REACH * w[0], y - REACH * w[1]], by = Math.abs(dx) > Math.abs(dy) ? dx : dy; // a key turns it, whatever way it points
      return { angle: ((Math.round(angle + Math.sign(by) * (Math.abs(by) > 0.1 ? 15 : 1)) + 540) % 360) - 180 };
    }, { color: "orange", size: 8, words: `${text(angle, 0)} degrees` });
    cloud.dots(t.map((v, p) => [v, f[p]]), { color: "blue", size: 2.2 });
    const slope = along(of.second, angle * DEGREE), most = along(of.second, best * DEGREE);
    return ["The place along the arrow explains ", [`${text(100 * share(t, f), 0)} %`], ` of the output. Along it the mean squared slope is ${text(slope)}${Math.abs(slope - most) < 0.002 * most ? ", and no direction has more" : ""}.`];
  },
  numbers: (state, memory) => {
    const { of, f, best } = known(state, memory), mean = Math.atan2(of.mean[1], of.mean[0]) / DEGREE;
    return { caption: "Directions", head: ["direction", "degrees", "mean squared slope", "explains"], rows: [["the arrow", state.angle], ["the leading one", best], ["across it", best + 90], ["the mean slope", mean]].map(([name, a]) => [name, a, along(of.second, a * DEGREE), share(places(a), f)]) };
  },
});
