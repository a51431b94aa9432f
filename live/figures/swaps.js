/** The cube of three or four inputs: paint its corners, turn it, and look for the line along which the colours change least. */
import { changes, corners, fewest, frameOf, order, turn } from "../core/cube.js";
import { Random } from "../core/random.js";
import { button, menu, player } from "../ui/controls.js";
import { count, html, put, svg, text } from "../ui/dom.js";
import { frame } from "../ui/frame.js";
import { handle } from "../ui/handle.js";

const title = "Turn the cube until the colours change least";

export const defaults = { table: [0, 1, 1, 0, 1, 0, 0, 1], weights: [0.9, 0.3, 0.5], best: null, bestWeights: [], answer: false };

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let axes = frameOf(model.get("weights")), picks = [], random = new Random(5), exact = null;
  const figure = frame(el, model, {
    name: "swaps", title, defaults, draw, reset, numbers,
    about: "A Boolean function paints the corners of a cube: filled squares are 1, open circles 0. The corners fall straight down on the line below; each place where neighbours differ is a change. "
      + "Turn the cube to have fewer of them: by the green diamond, or drag the empty paper. Click a corner to repaint it.",
    hints: ["[Tab] to the corners, [Enter] repaints one", "[Tab] on to the grip, then [←] [→] [↑] [↓] turn the cube", "[Shift] turns it far"],
  });
  const plot = svg("svg", { role: "group", "aria-label": "The cube and the line" }), back = svg("g", { "aria-hidden": "true" }), marks = svg("g");
  let last = null;
  const grip = handle({
    label: "turn the cube", kind: "diamond", color: "green", size: 8, release: () => {
      last = null;
      figure.say(summary());
    },
    grab: () => {
      last = null;
    },
    drag: (px, py) => {
      if (last) spin((px - last[0]) / 120, (last[1] - py) / 120);
      last = [px, py];
    },
    move: (dx, dy, far) => spin(dx * (far ? 0.25 : 0.04), dy * (far ? 0.25 : 0.04)),
  });
  plot.append(back, marks, grip.element);
  let from = null; // a mouse may take hold of the paper around the cube; a finger scrolls the page there
  put(plot, {
    onpointerdown: (event) => {
      if (event.pointerType === "touch" || event.button || event.target.closest(".pick")) return;
      from = [event.clientX, event.clientY];
      plot.setPointerCapture(event.pointerId);
    },
    onpointermove: (event) => {
      if (!from) return;
      spin((event.clientX - from[0]) / 120, (from[1] - event.clientY) / 120);
      from = [event.clientX, event.clientY];
    },
    onpointerup: () => {
      if (from) figure.say(summary());
      from = null;
    },
    onpointercancel: () => {
      from = null;
    },
  });
  figure.picture.append(plot);
  const hunt = player({
    step: () => {
      toward(model.get("weights").map(() => random.normal()));
      return true;
    },
    draw, ended: () => figure.say(summary()), name: "Hunt", perFrame: 1, most: 400, stepSize: 1,
  });
  hunt.one.textContent = "A random line";
  const size = menu("inputs", { 3: "three", 4: "four" }, String(inputs()), (n) => paint(Array.from({ length: 2 ** Number(n) }, (_, k) => parity(k)), Number(n)));
  figure.controls(
    html("div", { class: "row" }, hunt.element, button("Back to the best", () => {
      hunt.pause(true);
      toward(model.get("bestWeights"), true);
      figure.say(summary());
    }), button("Tell me the answer", tell)),
    html("div", { class: "row" }, size.element, button("Parity", () => paint(model.get("table").map((_, k) => parity(k)))), button("Paint at random", () => paint(model.get("table").map(() => +(random.uniform() < 0.5))))),
  );
  const parity = (k) => k.toString(2).split("1").length % 2 ? 0 : 1;
  function inputs() {
    return Math.log2(model.get("table").length);
  }

  function spin(a, b) {
    const n = inputs();
    axes = turn(turn(axes, 0, n - 1, a), 0, 1, b);
    if (n === 4) axes = turn(axes, 0, 2, (a + b) / 2);
    keep();
  }
  function toward(weights, draws = false) {
    axes = frameOf(weights);
    keep(draws);
  }
  function keep(draws = true) {
    const weights = axes[0], now = changes(model.get("table"), weights), best = model.get("best");
    figure.keep({ weights: [...weights], ...(best === null || now < best ? { best: now, bestWeights: [...weights] } : {}) });
    if (draws) draw();
  }
  function paint(table, n = inputs()) {
    hunt.pause(true);
    exact = null;
    const weights = n === axes.length ? axes[0] : [0.9, 0.3, 0.5, 0.17].slice(0, n);
    figure.keep({ table, best: null, bestWeights: [], answer: false });
    axes = n === axes.length ? axes : frameOf(weights);
    keep();
    figure.say(summary());
  }
  function tell() {
    hunt.pause(true);
    exact ??= fewest(model.get("table"));
    figure.keep({ answer: true });
    toward(exact.weights, true);
    figure.say(summary());
  }
  function reset() {
    hunt.pause(true);
    exact = null;
    figure.keep(structuredClone(start));
    size.set(String(inputs()));
    axes = frameOf(model.get("weights"));
    keep();
  }

  function draw() {
    const n = inputs(), table = model.get("table"), all = corners(n), wide = Math.min(figure.width, 620), tall = Math.max(300, 0.62 * wide), foot = tall - 24;
    if (axes.length !== n || String(axes[0]) !== String(model.get("weights"))) axes = frameOf(model.get("weights"));
    const reach = Math.sqrt(n), up = axes[1], px = (c) => wide / 2 + ((wide / 2 - 26) / reach) * dot(c, axes[0]), py = (c) => 24 + (foot - 70) / 2 - ((foot - 70) / 2 / reach) * (dot(c, up) + (n === 4 ? 0.35 * dot(c, axes[3]) : 0) + 0.3 * dot(c, axes[2]));
    put(plot, { viewBox: `0 0 ${wide} ${tall}`, height: tall, style: `width:${wide}px;max-width:100%` });
    const edges = all.flatMap((c, k) => Array.from({ length: n }, (_, j) => k ^ (1 << j)).filter((m) => m > k).map((m) => `M${px(c).toFixed(1)} ${py(c).toFixed(1)}L${px(all[m]).toFixed(1)} ${py(all[m]).toFixed(1)}`)).join("");
    const along = order(axes[0]), cuts = along.slice(1).flatMap((k, i) => (table[k] !== table[along[i]] ? [(px(all[k]) + px(all[along[i]])) / 2] : []));
    const mark = (value, x, y, r) => (value ? `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z` : `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`);
    back.replaceChildren(
      svg("path", { d: edges, stroke: "var(--soft)", "stroke-width": 1, fill: "none" }),
      svg("path", { d: all.map((c) => `M${px(c)} ${py(c)}V${foot}`).join(""), stroke: "var(--grid)", "stroke-width": 1, fill: "none" }),
      svg("path", { d: `M12 ${foot}H${wide - 12}`, stroke: "var(--ink)", "stroke-width": 1.5 }),
      svg("path", { d: cuts.map((x) => `M${x.toFixed(1)} ${foot - 16}v32`).join("") || "M0 0", stroke: "var(--pink)", "stroke-width": 2.5 }),
      ...[0, 1].map((value) => svg("path", { d: all.map((c, k) => (table[k] === value ? mark(value, px(c), foot, 5) : "")).join("") || "M0 0", fill: value ? "var(--orange)" : "var(--paper)", stroke: value ? "var(--orange)" : "var(--blue)", "stroke-width": 2 })),
      svg("text", { x: wide - 40, y: 28, "text-anchor": "end", class: "soft" }, "turn"),
    );
    while (picks.length > all.length) picks.pop().remove();
    while (picks.length < all.length) {
      picks.push(corner(picks.length));
      marks.append(picks.at(-1));
    }
    picks.forEach((pick, k) => {
      put(pick, { transform: `translate(${px(all[k]).toFixed(1)} ${py(all[k]).toFixed(1)})`, "aria-pressed": String(!!table[k]), "aria-label": `corner ${k.toString(2).padStart(n, "0")}` });
      put(pick.lastChild, { d: mark(table[k], 0, 0, 8), fill: table[k] ? "var(--orange)" : "var(--paper)", stroke: table[k] ? "var(--orange)" : "var(--blue)" });
    });
    grip.at(wide - 24, 24, Math.atan2(axes[0][1], axes[0][0]), `direction ${axes[0].map((v) => text(v)).join(", ")}`);
    figure.read(...parts());
  }
  const dot = (a, b) => a.reduce((sum, v, k) => sum + v * b[k], 0);

  function corner(k) {
    const element = svg("g", { class: "pick", role: "button", tabindex: 0 }, svg("circle", { class: "halo", r: 15 }), svg("path", { "stroke-width": 2.5 }));
    const flip = () => paint(model.get("table").map((v, m) => (m === k ? 1 - v : v)));
    put(element, {
      onclick: flip,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        flip();
      },
    });
    return element;
  }

  function parts() {
    const now = changes(model.get("table"), axes[0]), best = model.get("best") ?? now, words = ["Along this line: ", [count(now, "change")], `. Fewest so far: ${best}.`];
    if (model.get("answer")) words.push(` The swaps value is ${(exact ??= fewest(model.get("table"))).swaps}.`);
    return words;
  }
  const summary = () => parts().flat().join("");

  function numbers() {
    const n = inputs(), all = corners(n), row = (k) => html("tr", {}, html("th", { scope: "row" }, k.toString(2).padStart(n, "0")), html("td", {}, text(dot(all[k], axes[0]), 3)), html("td", {}, String(model.get("table")[k])));
    const head = ["corner", "place on the line", "class"].map((name) => html("th", { scope: "col" }, name));
    return html("table", {}, html("caption", {}, `Corners in the order of the line ${axes[0].map((v) => text(v)).join(", ")}`), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...order(axes[0]).map(row)));
  }

  keep();
  return figure.remove;
}

export default { title, defaults, render };
