/** The spline that a very wide network draws hangs on how far its bends reach, and on which way its neurons face. */
import { limit } from "../core/limit.js";
import { text } from "../ui/dom.js";
import { figure } from "../ui/kit.js";

const REACHES = [2, 2.25, 2.5, 2.75, 3, 3.5, 4, 5, 6, 8, 10, 15, 20, 30], EDGE = 1.95, SIDES = { right: "all neurons right", both: "half of them left" };
const PLACES = Array.from({ length: 121 }, (_, i) => i / 20 - 3);

/** The curve of the network and the natural spline, and how much more the first one bends. */
function fits({ points, reach, facing }) {
  const [x, y] = [0, 1].map((k) => points.map((p) => p[k])), far = Math.max(reach, ...x.map((u) => Math.abs(u) + 0.01));
  const curve = limit(x, y, far, facing), natural = limit(x, y, 3, "right", true);
  return { far, curve, natural, more: 100 * (curve.bending / natural.bending - 1) };
}
const twice = (points) => points.some(([x], i) => points.some(([u], j) => j < i && Math.abs(x - u) < 1e-9));

function words(state) {
  if (twice(state.points)) return "Two points stand at one place: no function goes through both.";
  const { more, natural } = fits(state);
  if (natural.bending < 1e-9) return "The points lie on a line, and the natural spline does not bend at all.";
  return ["Its ∫ f″² is ", [`${text(more, more < 9.95 ? 1 : 0)} %`], " larger than that of the natural spline, the smallest there is."];
}

export default figure({
  name: "ends",
  title: "Which cubic does a wide network draw?",
  about: "Squares are data. The blue curve is what infinitely many small bends draw through them; the bends fill the grey bar. Dashed: the natural spline, the smoothest curve of all.",
  hints: ["[Tab] goes from point to point", "[←] [→] [↑] [↓] move it", "[Shift] makes large steps"],
  defaults: { points: [[-1.8, 0.3], [-1, -0.6], [0.2, 0.5], [0.8, 0.9], [1.6, -0.2]], reach: 3, facing: "right" },
  pictures: [{ label: "The data and two splines", x: [-3, 3], y: [-3, 3], tall: 300, xName: "x" }],
  controls: [
    [{ button: "Turn half of them around", main: true, act: ({ facing }) => ({ facing: facing === "right" ? "both" : "right" }) }],
    [{ slider: "bends reach to", key: "reach", values: REACHES, show: (v) => `±${text(v, v % 1 ? 2 : 0)}` }, { menu: "facing", key: "facing", options: SIDES }],
  ],
  draw(state, [plot]) {
    if (!twice(state.points)) {
      const { far, curve, natural } = fits(state), edge = Math.min(3, far);
      plot.line([[-edge, -2.9], [edge, -2.9]], { color: "line", width: 7 });
      plot.line(PLACES.map((t) => [t, natural.value(t)]), { color: "orange", dashes: "7 4", width: 2 });
      plot.line(PLACES.filter((t) => Math.abs(t) <= far).map((t) => [t, curve.value(t)]), { color: "blue" });
    }
    state.points.forEach((p, i) => plot.handle(`point ${i + 1}`, p[0], p[1], (x, y) => ({ points: state.points.map((q, k) => (k === i ? [Math.max(-EDGE, Math.min(EDGE, x)), y] : q)) }), { kind: "square", color: "ink" }));
    return words(state);
  },
  numbers: (state) => ({ caption: "The two curves", head: ["x", "network", "natural spline"], rows: twice(state.points) ? [] : [-3, -2, -1, 0, 1, 2, 3].map((t) => [t, fits(state).curve.value(t), fits(state).natural.value(t)]) }),
});
