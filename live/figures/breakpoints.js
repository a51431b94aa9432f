/** A random network of one variable: where it bends, and where thousands of them would. */
import { Random } from "../core/random.js";
import { density, own, pieces, REACH, share, spline, value } from "../core/spline.js";
import { axes, faint, HEAD, path, scales } from "../ui/axes.js";
import { button, check, menu, slider } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle } from "../ui/handle.js";
import { told } from "../ui/told.js";

const LAWS = { normal: "normal weights", uniform: "uniform weights (torch)", even: "bends spread evenly" };
const RATIOS = [...Array.from({ length: 30 }, (_, k) => (k + 1) / 10), 3.5, 4, 5, 6, 8, 10];
const BINS = 80, FAR = 1000;
const round = (x) => Math.round(x * 100) / 100;
const title = "Where does a random network bend?";

export const defaults = {
  w: [1, -2, 0.5, 1.3, -0.8], b: [1, 1, -1.5, 0.4, 1.1], v: [1, 0.5, -2, -0.9, 0.7], offset: 0,
  law: "normal", ratio: 1, seed: 1, curve: false,
};

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let random = new Random(model.get("seed"));
  /** Bends of all networks so far, at ratio 1: with another ratio they are that many times farther out. */
  let pile = [], counted = null, guessed = false;
  let chosen = 0, range = null, handles = [], door = null, view = null;

  const figure = frame(el, model, {
    name: "breakpoints", title, defaults, draw, numbers, reset,
    about: "Top: what a network with one input and a few random ReLU neurons computes, a chain of straight lines with a dot at each bend. Thin lines show what each neuron adds. "
      + "Below: every bend drawn so far, piled up.",
    hints: ["[Tab] goes from bend to bend", "[←] [→] move it", "[↑] [↓] swing the line on its switched-on side", "[Shift] makes large steps"],
  });
  const top = svg("svg", { role: "group", "aria-label": "The curve and its bends" });
  const bottom = svg("svg", { role: "img" });
  figure.picture.append(top, bottom);
  const ratio = slider("σ_b / σ_w", RATIOS, model.get("ratio"), (r, done) => rescale(r, done));
  put(ratio.input, { "aria-label": "scale of the biases over scale of the weights" });
  ratio.element.firstChild.replaceWith(html("span", {}, "σ", html("sub", {}, "b"), " / σ", html("sub", {}, "w")));
  const law = menu("start", LAWS, model.get("law"), (next) => {
    figure.keep({ law: next });
    pile = [];
    again();
  });
  const width = slider("neurons", [1, 2, 3, 5, 8, 12, 20], model.get("w").length, (n, done) => {
    if (n !== model.get("w").length) { // letting go of the slider draws no second network
      draws(n);
      pile = standard();
      draw();
    }
    if (done) tell();
  });
  const curve = check("show the law", model.get("curve"), (on) => {
    figure.keep({ curve: on });
    draw();
  });
  figure.controls(
    html("div", { class: "row" }, button("Draw again", again, { class: "main" }), button("Draw 1,000", thousand),
      button("Clear the pile", () => {
        pile = [];
        draw();
        figure.say("The pile is empty.");
      })),
    html("div", { class: "row" }, ratio.element, law.element, width.element, curve.element),
  );

  const f = () => spline(model.get("w"), model.get("b"), model.get("v"), model.get("offset"));
  const standard = () => f().hinges.map((h) => h.beta / scale());
  const scale = () => (model.get("law") === "even" ? 1 : model.get("ratio"));

  /** One neuron of the law that is chosen. */
  function neuron() {
    const kind = model.get("law"), one = () => (kind === "uniform" ? random.uniform(-1, 1) : random.normal());
    const w = one(), b = kind === "even" ? -w * random.uniform(-REACH, REACH) : model.get("ratio") * one();
    return [w, b, one()];
  }

  function draws(n) {
    const [w, b, v] = [0, 1, 2].map(() => []);
    for (let i = 0; i < n; i++) neuron().forEach((x, k) => [w, b, v][k].push(x));
    range = null;
    figure.keep({ w, b, v, offset: 0, seed: random.bits() });
    random = new Random(model.get("seed"));
    chosen = Math.min(chosen, n - 1);
  }

  function again() {
    draws(model.get("w").length);
    pile.push(...standard());
    draw();
    tell();
  }

  function thousand() {
    const n = model.get("w").length;
    for (let k = 0; k < 1000 * n; k++) {
      const [w, b] = neuron();
      pile.push(-b / w / scale());
    }
    draw();
    tell();
  }

  function rescale(r, done) {
    if (model.get("law") !== "even") figure.keep({ b: model.get("b").map((b) => (b * r) / model.get("ratio")) });
    figure.keep({ ratio: r });
    range = null;
    draw();
    if (done) tell();
  }

  function reset() {
    figure.keep(structuredClone(start));
    random = new Random(start.seed);
    pile = standard();
    range = null;
    chosen = 0;
    ratio.set(start.ratio);
    law.set(start.law);
    width.set(start.w.length);
    curve.set(start.curve);
    draw();
  }

  /** Put neuron i's bend at beta, or let it bend by mu: w stays, so that only the bias or only v changes. @param {number} i @param {{ beta?: number, mu?: number }} to */
  function bend(i, { beta, mu }) {
    const { w, b, v } = Object.fromEntries(["w", "b", "v"].map((key) => [key, [...model.get(key)]]));
    const kept = (x) => Math.max(-FAR, Math.min(FAR, x)); // a typed number may be any
    if (beta !== undefined && w[i] !== 0) b[i] = -w[i] * kept(beta);
    if (mu !== undefined && w[i] !== 0) v[i] = kept(mu) / Math.abs(w[i]);
    chosen = i;
    figure.keep({ b, v });
    draw();
  }

  const within = (y) => Math.max(range[0], Math.min(range[1], y));
  const limited = (beta) => Math.min(REACH, Math.max(-REACH, beta));
  const words = (h) => `bend at ${text(h.beta)}, slope changes by ${text(h.mu)}, switched on to the ${h.side > 0 ? "right" : "left"}`;

  function release() {
    fit();
    draw();
    figure.say(words(f().hinges[chosen]));
  }

  function makeHandles(n) {
    const held = top.contains(figure.root.getRootNode().activeElement) ? chosen : -1;
    handles.forEach((h) => h.element.remove());
    handles = Array.from({ length: n }, (_, i) => handle({
      label: `bend ${i + 1}`, color: "orange",
      grab: () => {
        chosen = i;
        draw();
      },
      drag: (px) => bend(i, { beta: limited(round(view.ux(px))) }),
      move: (dx, dy, far) => {
        const h = f().hinges[i], step = far ? 0.5 : 0.05;
        bend(i, dx ? { beta: limited(round(limited(h.beta) + dx * step)) } : { mu: round(h.mu + dy * step) });
      },
      release,
    }));
    door ??= handle({
      label: "how much it bends", kind: "square", color: "blue", size: 6,
      drag: (_, py) => swing(py),
      move: (dx, dy, far) => bend(chosen, { mu: round(f().hinges[chosen].mu + (dy || dx) * (far ? 0.5 : 0.05)) }),
      release,
    });
    top.append(...handles.map((h) => h.element), door.element);
    if (held >= 0) handles[Math.min(held, n - 1)].element.focus({ preventScroll: true });
  }

  /** The square stands one unit out on the switched-on side: where it is put decides how much the line bends. */
  function swing(py) {
    const now = f(), h = now.hinges[chosen], out = doorPlace(h);
    const rest = value(now, out) - h.mu * Math.abs(out - h.beta);
    bend(chosen, { mu: round((view.uy(py) - rest) / Math.abs(out - h.beta)) });
  }

  const doorPlace = (h) => Math.min(REACH, Math.max(-REACH, h.beta + h.side));

  /** The range of the vertical axis: round, and the same while a hand holds something. */
  function fit() {
    const now = f(), xs = [-REACH, REACH, ...now.hinges.map((h) => h.beta).filter((x) => Math.abs(x) < REACH)];
    const ys = xs.map((x) => value(now, x)), low = Math.min(...ys, -0.25), high = Math.max(...ys, 0.25), room = 0.08 * (high - low);
    range = [low - room, high + room];
  }

  function draw() {
    const now = f(), wide = figure.width;
    if (!range) fit();
    put(ratio.input, { disabled: model.get("law") === "even" }); // there it decides nothing
    const tall = HEAD + Math.max(184, Math.min(284, 0.42 * wide)), box = { left: 40, top: HEAD, width: wide - 56, height: tall - HEAD - 24 };
    view = scales(box, { x: [-REACH, REACH], y: range });
    put(top, { viewBox: `0 0 ${wide} ${tall}`, height: tall });
    const knots = pieces(now).knots.filter((x) => Math.abs(x) < REACH);
    const line = svg("path", { d: path(view, [-REACH, ...knots, REACH].map((x) => [x, value(now, x)])), fill: "none", stroke: "var(--blue)", "stroke-width": 2.5, "stroke-linejoin": "round" });
    const still = svg("g", { class: "still" }, axes(view, { yName: "f(x)" }), svg("svg", { ...boxed(box), overflow: "hidden" }, svg("g", { transform: `translate(${-box.left} ${-box.top})` }, faint(view, own(now, REACH)), line)));
    top.querySelector(".still")?.remove();
    top.prepend(still);
    if (handles.length !== now.hinges.length) makeHandles(now.hinges.length);
    now.hinges.forEach((h, i) => {
      const off = Math.abs(h.beta) > REACH, x = limited(h.beta), y = within(value(now, x));
      handles[i].dress({ kind: off ? (h.beta > 0 ? "right" : "left") : "dot", color: i === chosen ? "orange" : "ink", size: i === chosen ? 8 : 6 });
      handles[i].at(view.x(x), view.y(y), limited(h.beta), words(h) + (off ? ", off the page" : ""));
    });
    const h = now.hinges[chosen], out = doorPlace(h), usable = Math.abs(out - h.beta) > 0.05 && Math.abs(h.beta) <= REACH;
    put(door.element, { display: usable ? null : "none" });
    if (usable) door.at(view.x(out), view.y(within(value(now, out))), h.mu, `slope changes by ${text(h.mu)} at bend ${chosen + 1}`);
    drawPile(wide, now);
    read();
  }

  const boxed = ({ left, top: y, width: w, height: h }) => ({ x: left, y, width: w, height: h });

  /** The pile in bins, counted once: it may have hundreds of thousands of bends. */
  function piled() {
    if (counted && counted.pile === pile && counted.all === pile.length && counted.scale === scale()) return counted;
    counted = { pile, all: pile.length, scale: scale(), bins: new Array(BINS).fill(0), inside: 0, off: 0 };
    for (const one of pile) {
      const x = one * counted.scale, far = Math.abs(x);
      if (far <= 1) counted.inside++;
      if (far > REACH) counted.off++;
      if (far < REACH) counted.bins[Math.floor(((x + REACH) * BINS) / (2 * REACH))]++;
    }
    return counted;
  }

  function drawPile(wide, now) {
    const tall = 128, box = { left: 40, top: 8, width: wide - 56, height: tall - 42 };
    const { bins, inside } = piled(), cell = (2 * REACH) / BINS;
    const s = scales(box, { x: [-REACH, REACH], y: [0, 1] }), most = Math.max(12, ...bins), unit = box.height / most;
    const radius = Math.min(box.width / BINS / 2.2, unit / 2);
    // each dot is a line of no length with round ends; where they would be too small, a bar
    const dots = bins.flatMap((n, k) => {
      const x = s.x(-REACH + (k + 0.5) * cell).toFixed(1), foot = box.top + box.height;
      if (radius < 1.1) return n ? [`M${x} ${foot}V${(foot - n * unit).toFixed(1)}`] : [];
      return Array.from({ length: n }, (_, i) => `M${x} ${(foot - (i + 0.5) * unit).toFixed(1)}h0`);
    }).join("");
    const width = radius < 1.1 ? (box.width / BINS) * 0.8 : 2 * radius;
    const half = model.get("law") === "even" ? REACH / 2 : scale(), [left, right] = [-1, 1].map((side) => s.x(limited(side * half)));
    const parts = [
      ...(guessed || model.get("curve") ? [svg("path", { d: `M${left} ${box.top}H${right}V${box.top + box.height}H${left}Z`, fill: "var(--tint-b)" })] : []), // the answer comes after the guess
      axes(s, { yTicks: false, xName: "x" }),
      svg("path", { d: dots || "M0 0", stroke: "var(--blue)", "stroke-width": width, "stroke-linecap": radius < 1.1 ? "butt" : "round", fill: "none" }),
      ...now.hinges.filter((h) => Math.abs(h.beta) <= REACH).map((h) => svg("path", { d: `M${s.x(h.beta)} ${box.top + box.height}l-4 5h8Z`, fill: "var(--orange)" })),
    ];
    if (model.get("curve")) {
      const total = Math.max(pile.length, most / (cell * density(model.get("law"), 0, scale())) / 1.2);
      const points = Array.from({ length: 241 }, (_, i) => -REACH + (i * REACH) / 120).map((x) => [x, Math.min(1, (total * cell * density(model.get("law"), x, scale())) / most)]);
      parts.push(svg("path", { d: path(s, points), fill: "none", stroke: "var(--orange)", "stroke-width": 2, "stroke-dasharray": "6 3" }));
    }
    put(bottom, { viewBox: `0 0 ${wide} ${tall}`, height: tall, "aria-label": `The pile: ${count(pile.length, "bend")}, ${inside} of them between −1 and 1` });
    bottom.replaceChildren(...parts);
  }

  function read() {
    const { inside, off } = piled(), all = pile.length;
    if (!all) return figure.read("The pile is empty: press ", ["Draw again"], ".");
    figure.read(`${count(all, "bend")} so far. Between −1 and 1: `, [`${((100 * inside) / all).toFixed(1)} %`],
      `. Off the page: ${((100 * off) / all).toFixed(1)} %.`,
      model.get("curve") ? ` The law says ${(100 * share(model.get("law"), 1, scale())).toFixed(1)} % and ${(100 - 100 * share(model.get("law"), REACH, scale())).toFixed(1)} %.` : "",
      guessed || model.get("curve") ? " The band holds half of them by the law." : "");
  }

  function tell() {
    const here = f().hinges.map((h) => h.beta).sort((a, b) => a - b).map((b) => text(b, 1));
    const all = pile.length, { inside } = piled();
    figure.say(`Bends at ${here.join(", ")}.` + (all ? ` ${count(all, "bend")} so far, ${((100 * inside) / all).toFixed(1)} percent between −1 and 1.` : ""));
  }

  function numbers() {
    const field = (i, key, now, name) => html("input", {
      type: "number", step: "0.05", value: Number(now.toFixed(3)), "aria-label": `${name} of neuron ${i + 1}`,
      onchange: (event) => {
        if (event.target.value === "") return;
        bend(i, { [key]: Number(event.target.value) });
        release();
        figure.renumber();
      },
    });
    const row = (h, i) => html("tr", {}, html("th", { scope: "row" }, String(i + 1)),
      html("td", {}, field(i, "beta", h.beta, "place of the bend")), html("td", {}, field(i, "mu", h.mu, "change of slope")),
      html("td", {}, h.side > 0 ? "right" : "left"), ...["w", "b", "v"].map((key) => html("td", {}, text(model.get(key)[i], 3))));
    const head = ["neuron", "bends at β = −b/w", "by μ = v|w|", "on to the", "w", "b", "v"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, "The network: f(x) = sum of v · max(wx + b, 0)"), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...f().hinges.map(row)));
  }

  fit();
  pile = standard();
  draw();
  const forget = told(el, () => {
    guessed = true;
    draw();
  });
  return () => {
    forget();
    figure.remove();
  };
}

export default { title, defaults, render };
