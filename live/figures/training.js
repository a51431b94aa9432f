/** Sixteen answers on a board whose neighbours differ in one bit: paint them, and see how often a small network learns them. */
import { corners } from "../core/cube.js";
import { network, outputs } from "../core/net.js";
import { Random } from "../core/random.js";
import { Trainer } from "../core/train.js";
import { button, menu, player } from "../ui/controls.js";
import { count, html, put, svg } from "../ui/dom.js";
import { frame } from "../ui/frame.js";

const GRAY = [0, 1, 3, 2], BITS = ["00", "01", "10", "11"], TRIALS = 20, EPOCHS = 4000, RATE = 0.025, LEAK = 0.1, LINES = 6; // the setting of the chapter
const BOARDS = { half: [0, 1, 2, 3, 4, 5, 6, 7], corner: [15], chess: [1, 2, 4, 7, 8, 11, 13, 14] };
const title = "Paint a function, and see how often it is learned";

export const defaults = { table: Array.from({ length: 16 }, (_, k) => +(k === 15)), width: 3, borders: false, tried: [], seed: 1 };

/** Which entry of the table a square shows: the row has the first two bits, the column the others. */
const entry = (row, column) => 4 * GRAY[row] + GRAY[column];
/** Pairs of neighbours, on a board whose opposite sides touch, that have different answers. */
export const borders = (table) => table.reduce((sum, v, k) => sum + [1, 2, 4, 8].filter((bit) => k < (k ^ bit) && table[k ^ bit] !== v).length, 0);

function render({ model, el }) {
  const start = Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  const x = corners(4).flat();
  let random = new Random(model.get("seed")), now = null, tally = null;
  const figure = frame(el, model, {
    name: "training", title, defaults, draw, reset, numbers,
    about: "Each square is one setting of four bits; neighbours differ in one bit, also across the edges of the board. Paint the squares where the answer is 1, then train.",
    hints: ["[Tab] to a square, [Enter] paints it", "[Tab] on to the buttons"],
  });
  const plot = svg("svg", { role: "group", "aria-label": "The board and what was tried" }), back = svg("g", { "aria-hidden": "true" }), marks = svg("g");
  plot.append(marks, back);
  figure.picture.append(plot);
  const squares = GRAY.flatMap((_, r) => GRAY.map((__, c) => square(entry(r, c))));
  marks.append(...squares);
  const run = player({
    step: () => {
      tally ??= fresh();
      now ??= begin();
      for (let k = 0; k < 50; k++) now.step();
      const sure = now.loss() <= Math.LN2 / 16; // a wrong corner alone costs more; the package stops here too
      if (sure || now.steps >= EPOCHS) {
        tally[2] += +(sure || all(now.net));
        tally[3] += 1;
        now = null;
        figure.keep({ tried: [tally.slice(), ...model.get("tried").slice(1)] });
      }
      if (tally[3] < TRIALS) return true;
      tally = null;
      return false;
    },
    draw, ended: () => figure.say(summary()), name: `Train ${TRIALS} networks`, perFrame: 40, most: 1e6,
  });
  run.one.remove();
  const width = menu("neurons", { 2: "two", 3: "three", 4: "four", 6: "six" }, String(model.get("width")), (w) => change({ width: Number(w) }));
  figure.controls(html("div", { class: "row" }, run.element, width.element), html(
    "div", { class: "row" }, ...[["One square", "corner"], ["Half the board", "half"], ["Chessboard", "chess"]].map(([name, key]) => button(name, () => paint(model.get("table").map((_, k) => +BOARDS[key].includes(k))))),
    button("At random", () => paint(model.get("table").map(() => +(random.uniform() < 0.5)))),
  ));

  /** He's normal weights, biases as torch draws them. */
  function begin() {
    const h = model.get("width"), normal = (n, fan) => Array.from({ length: n }, () => Math.sqrt(2 / fan) * random.normal()), flat = (n, fan) => Array.from({ length: n }, () => random.uniform(-1, 1) / Math.sqrt(fan));
    const net = network([Array.from({ length: h }, () => normal(4, 4)), [normal(h, h)]], [flat(h, 4), flat(1, h)], LEAK);
    return new Trainer(net, x, model.get("table"), { loss: "bce", optimizer: "adam", rate: RATE });
  }
  const all = (net) => outputs(net, x).every((f, k) => f > 0 === model.get("table")[k] > 0);
  /** A new line of the list: table, neurons, learned, trained. */
  function fresh() {
    const line = [model.get("table").join(""), model.get("width"), 0, 0];
    figure.keep({ tried: [line, ...model.get("tried")].slice(0, LINES) });
    return line;
  }
  function change(changes) {
    run.pause(true);
    now = tally = null;
    figure.keep(changes);
    draw();
  }
  function paint(table) {
    change({ table });
    figure.say(summary());
  }
  function reset() {
    random = new Random(start.seed);
    width.set(String(start.width));
    change(structuredClone(start));
  }

  function draw() {
    const edge = 24, wide = Math.min(figure.width, 620) - edge, narrow = wide < 460 - edge, side = narrow ? Math.min(200, wide) : 216, unit = side / 4, table = model.get("table"), tried = model.get("tried");
    const left = narrow ? 0 : side + 36, top = narrow ? side + 30 : 20, line = 32, lines = narrow ? 4 : LINES, tall = Math.max(side + 8, top + line * lines), bar = wide - left - (narrow ? 126 : 180);
    put(plot, { viewBox: `${-edge} ${-edge} ${wide + edge} ${tall + edge}`, height: tall + edge, style: `width:${wide + edge}px;max-width:100%` });
    squares.forEach((g, m) => {
      const k = entry(m >> 2, m % 4);
      put(g, { transform: `translate(${(m % 4) * unit} ${(m >> 2) * unit})`, "aria-pressed": String(!!table[k]), "aria-label": `bits ${k.toString(2).padStart(4, "0")}` });
      put(g.lastChild, { x: 2, y: 2, width: unit - 4, height: unit - 4, fill: table[k] ? "var(--orange)" : "var(--fill)" });
      put(g.firstChild, { x: 0, y: 0, width: unit, height: unit });
    });
    back.replaceChildren(...(model.get("borders") ? [svg("path", { d: fences(table, unit), stroke: "var(--blue)", "stroke-width": 5, "stroke-linecap": "round" })] : []),
      ...GRAY.flatMap((bits, i) => [
        svg("text", { x: (i + 0.5) * unit, y: -7, class: "soft", "text-anchor": "middle" }, BITS[bits]),
        svg("text", { x: -5, y: (i + 0.5) * unit + 4, class: "soft", "text-anchor": "end" }, BITS[bits]),
      ]),
      svg("text", { x: left, y: top - 8, class: "soft" }, "learned, of those trained"), ...(tried.length ? tried : [[table.join(""), model.get("width"), 0, 0]]).slice(0, lines).flatMap(([what, h, learned, trained], i) => {
      const y = top + i * line, mini = [...what].map((v, k) => (v === "1" ? `M${left + 6 * GRAY.indexOf(k & 3)} ${y + 6 * GRAY.indexOf(k >> 2)}h5v5h-5Z` : "")).join("");
      return [
        svg("rect", { x: left - 2, y: y - 2, width: 28, height: 28, fill: "none", stroke: "var(--line)" }), svg("path", { d: mini || "M0 0", fill: "var(--orange)" }),
        svg("rect", { x: left + 36, y: y + 4, width: bar, height: 14, fill: "var(--fill)" }),
        svg("rect", { x: left + 36, y: y + 4, width: (bar * learned) / TRIALS, height: 14, fill: "var(--blue)" }),
        svg("text", { x: left + 44 + bar, y: y + 16 }, trained ? `${learned} of ${trained}` : "press Train", svg("tspan", { class: "soft" }, narrow || !trained ? "" : model.get("borders") ? ` · ${count(borders([...what].map(Number)), "border")}` : ` · ${count(h, "neuron")}`)),
      ];
    }));
    figure.read(...parts());
  }
  /** The borders as lines; what differs across the edge of the board is drawn on both edges. */
  function fences(table, unit) {
    const d = [], inset = 2;
    for (let r = 0; r < 4; r++) {
      for (let c = 0; c < 4; c++) {
        const at = table[entry(r, c)], across = (c + 1) % 4, down = (r + 1) % 4;
        if (at !== table[entry(r, across)]) for (const px of across ? [(c + 1) * unit] : [inset, 4 * unit - inset]) d.push(`M${px} ${r * unit + 4}v${unit - 8}`);
        if (at !== table[entry(down, c)]) for (const py of down ? [(r + 1) * unit] : [inset, 4 * unit - inset]) d.push(`M${c * unit + 4} ${py}h${unit - 8}`);
      }
    }
    return d.join("") || "M0 0";
  }
  function square(k) {
    const g = svg("g", { class: "pick", role: "button", tabindex: 0 }, svg("rect", { class: "halo" }), svg("rect", { rx: 3, stroke: "var(--line)" }));
    const flip = () => paint(model.get("table").map((v, m) => (m === k ? 1 - v : v)));
    put(g, {
      onclick: flip,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        flip();
      },
    });
    return g;
  }

  function parts() {
    const line = model.get("tried")[0], same = line && line[0] === model.get("table").join("") && line[1] === model.get("width"), words = [];
    if (model.get("borders")) words.push([`${borders(model.get("table"))} of 32`], " pairs of neighbours differ. ");
    words.push(same ? `${count(line[1], "neuron")}: learned by ${line[2]} of ${line[3]} networks.` : "This board has not been trained yet.");
    return words;
  }
  const summary = () => parts().flat().join("");

  function numbers() {
    const head = ["answers", "neurons", "learned", "trained"].map((name) => html("th", { scope: "col" }, name));
    const rows = model.get("tried").map((line) => html("tr", {}, ...line.map((v, i) => html(i ? "td" : "th", i ? {} : { scope: "row" }, String(v)))));
    return html("table", {}, html("caption", {}, "What was trained, the newest first; answers in the order 0000, 0001, ..., 1111"), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
  }

  draw();
  return figure.remove;
}

export default { title, defaults, render };
