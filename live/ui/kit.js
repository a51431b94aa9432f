/**
 * The kit: a figure is its model and its drawing, and all that stands around them comes from here: frame, axes, handles, sliders,
 * players, readout, numbers, reset, a link, the whole screen, keys, and what a screen reader says. A whole figure:
 *
 *     import { text } from "../ui/dom.js";
 *     import { figure } from "../ui/kit.js";
 *
 *     export default figure({
 *       name: "hinge", // the name of its file
 *       title: "One neuron is a hinge",
 *       about: "A neuron is flat up to its bend and straight after it. Drag the bend, or let it walk.",
 *       hints: ["[Tab] to the bend", "[←] [→] move it", "[Shift] makes large steps"],
 *       defaults: { beta: 0, slope: 1 }, // the state: it is what a link and Python carry
 *       memory: () => ({ walked: 0 }), // what an instance remembers beside it, if anything; a reset makes it anew
 *       pictures: [{ label: "The neuron", x: [-3, 3], y: [-2, 2], xName: "x", yName: "f(x)", tall: 240 }],
 *       controls: [ // rows; the first stands above the picture and has the main button
 *         [{ play: "Walk", step: ({ beta }, memory) => memory.walked++ < 50 && { beta: beta + 0.01 } }, { button: "Turn it around", act: ({ slope }) => ({ slope: -slope }) }],
 *         [{ slider: "slope", key: "slope", values: [-2, -1, 0.5, 1, 2] }],
 *       ],
 *       draw({ beta, slope }, [plot]) { // what it gives is the line under the picture, and what is said when a hand lets go
 *         plot.line([[-3, 0], [beta, 0], [3, slope * (3 - beta)]]);
 *         plot.handle("bend", beta, 0, (x) => ({ beta: x })); // where a hand puts it: the state that changes
 *         return `The neuron bends at ${text(beta)}.`;
 *       },
 *       numbers: ({ beta, slope }) => ({ caption: "The neuron", head: ["bends at", "slope"], rows: [[beta, slope]] }),
 *     });
 *
 * A control is one of
 *   { button, act(state, memory), off?(state, memory), main? }   what it does is the state that it gives back
 *   { play, step(state, memory), ended?(memory, why), ... }      the next state, or false at the end; the rest goes to `player`
 *   { slider, key, values, show?, mark?(state, memory) }, { menu, key, options }, { check, key }
 * `memory.told` is true once the guess below the figure is made: what gives its answer away waits for that. And `changed(state, memory)` is called when a hand changed something (not by a player): a training forgets where it was.
 * What a page gives and no link carries stands in `given`: its keys are in the state too. A picture has `x` and `y`, ranges or functions of (state, memory), `tall` in pixels at full width, the names of its axes (one that hangs on the state is a function too), and
 * `fixed: true` where nothing in it can be taken hold of. A share of its width is free at its right side with `spare`. With `part` it takes that share of a wide figure and stands beside the next
 * one, with `ratio` its height follows its width, `bare` has no axes, and `press(x, y, state)` is what a click on it changes. Its
 * painter draws in the numbers of its axes: see `painter` below.
 */
import { axes, faint, HEAD, path, scales } from "./axes.js";
import { button, check, menu, player, slider } from "./controls.js";
import { html, put, svg, text } from "./dom.js";
import { frame } from "./frame.js";
import { handle, shape, within } from "./handle.js";
import { told } from "./told.js";

const SHADES = 12, SPLIT = 480; // shades of a colour in a matrix, and pixels from which pictures stand side by side
const round = (v) => Math.round(v * 100) / 100, limited = (v, [low, high]) => Math.max(low, Math.min(high, v));

/**
 * @typedef {{ label: string, x: any, y: any, tall?: number, xName?: any, yName?: string, yTicks?: boolean, grid?: boolean, spare?: number, fixed?: boolean, part?: number, ratio?: number, bare?: boolean,
 *   press?: (x: number, y: number, state: any) => any }} Picture
 * @param {{ name: string, title: string, about: string, hints: string[], defaults: Record<string, any>, given?: string[], pictures: Picture[], controls: any[][],
 *   draw: (state: any, painters: ReturnType<typeof painter>[], memory: any) => any, numbers?: (state: any, memory: any) => { caption: string, head: string[], rows: any[][] },
 *   memory?: (state: any) => any, changed?: (state: any, memory: any) => void }} how
 */
export function figure({ name, title, about, hints, defaults, given = [], pictures, controls, draw, numbers, memory: remember = () => ({}), changed }) {
  function render({ model, el }) {
    const state = () => Object.fromEntries([...Object.keys(defaults), ...given].map((key) => [key, model.get(key)])), start = structuredClone(state());
    let memory = remember(state()), words = "", guessed = false;
    const made = frame(el, model, { name, title, about, hints, defaults, draw: show, numbers: numbers && (() => table(numbers(state(), memory))), reset });
    const painters = pictures.map((picture) => painter(picture, made, set, () => made.say(words)));
    made.picture.append(...painters.map((p) => p.element));
    if (pictures.some((p) => p.part)) put(made.picture, { style: "display:flex;flex-wrap:wrap;justify-content:center;gap:6px 12px" });
    pictures.forEach(({ press }, i) => press && put(painters[i].element, {
      onclick: (event) => {
        if (event.target.closest(".handle")) return;
        const [px, py] = within(painters[i].element, event), { view } = painters[i];
        set(press(view.ux(px), view.uy(py), state()));
        made.say(words);
      },
    }));
    const parts = controls.map((row) => row.map((how) => part(how)));
    const [first, ...rest] = parts.map((row) => html("div", { class: "row" }, ...row.map((one) => one.element)));
    made.controls(first, ...rest);

    /** What a hand changes: players stop. */
    function set(changes) {
      if (!changes) return;
      for (const one of parts.flat()) one.player?.pause(true);
      made.keep(changes);
      changed?.(state(), memory);
      show();
    }
    function reset() {
      memory = { ...remember(start), told: guessed };
      set(structuredClone(start));
      for (const one of parts.flat()) one.set?.(start);
    }
    function show() {
      const now = state();
      for (const p of painters) p.begin(now, memory);
      const read = draw(now, painters, memory), said = Array.isArray(read) ? read : [read];
      words = said.flat().join("");
      for (const p of painters) p.end(words);
      for (const one of parts?.flat() ?? []) one.update?.(now, memory);
      made.read(...said);
    }
    function part(how) {
      const keyed = (control) => ({
        element: control.element, set: (s) => control.set(s[how.key]),
        update: (s, m) => {
          control.set(s[how.key]);
          if (how.mark?.(s, m)) control.mark(how.mark(s, m));
        },
      });
      if (how.slider) return keyed(slider(how.slider, how.values, model.get(how.key), (v, done) => {
        if (v !== model.get(how.key)) set({ [how.key]: v });
        if (done) made.say(words);
      }, how.show));
      if (how.menu) return keyed(menu(how.menu, how.options, String(model.get(how.key)), (v) => {
        set({ [how.key]: typeof defaults[how.key] === "number" ? Number(v) : v });
        made.say(words);
      }));
      if (how.check) return keyed(check(how.check, model.get(how.key), (on) => set({ [how.key]: on })));
      if (how.play) return playing(how);
      const one = button(how.button, () => {
        set(how.act(state(), memory));
        made.say(words);
      }, how.main ? { class: "main" } : {});
      return { element: one, update: (now, mem) => put(one, { disabled: !!how.off?.(now, mem) }) };
    }
    function playing(how) {
      let now = null;
      const run = player({
        ...how, name: how.play,
        step: () => {
          now ??= state();
          const next = how.step(now, memory);
          if (next) now = { ...now, ...next };
          return !!next;
        },
        draw: () => {
          if (now) made.keep(now);
          now = null;
          show();
        },
        ended: (why) => {
          how.ended?.(memory, why);
          show();
          made.say(words);
        },
      });
      if (how.plain) put(run.play, { class: null });
      if (!how.stepSize) run.one.remove();
      return { element: run.element, player: run };
    }
    show();
    const forget = told(el, () => {
      memory.told = guessed = true;
      show();
    });
    return () => {
      forget();
      made.remove();
    };
  }
  return { title, defaults, render };
}

/** A picture and what can be drawn in it, in the numbers of its axes. @param {Picture} picture */
function painter({ label, x, y, tall = 240, xName, yName, yTicks, grid, spare = 0, fixed, part, ratio, bare }, made, set, tell) {
  const element = svg("svg", fixed ? { role: "img" } : { role: "group", "aria-label": label }), back = svg("g", { "aria-hidden": "true" }), front = svg("g");
  element.append(back, front);
  const handles = [], moves = [], of = (range, now, memory) => (typeof range === "function" ? range(now, memory) : range);
  let view = null, inside = [], over = [], used = 0, named = xName;
  const line = (d, { color = "blue", width = 2.5, dashes = null, opacity = 1 } = {}) => svg("path", { d: d || "M0 0", fill: "none", stroke: `var(--${color})`, "stroke-width": width, "stroke-dasharray": dashes, opacity, "stroke-linejoin": "round", "stroke-linecap": "round" });
  const painted = (all, { color = "fill", opacity = null } = {}) => inside.push(svg("path", { d: all.map((points) => (points.length ? `${path(view, points)}Z` : "")).join("") || "M0 0", fill: `var(--${color})`, "fill-opacity": opacity }));
  return {
    element,
    get view() {
      return view;
    },
    /** Before a drawing. */
    begin(now, memory) {
      const room = made.width, beside = part && room >= SPLIT, share = beside ? Math.floor(part * (room - 12)) : room, top = yName ? HEAD : bare ? 2 : 8;
      const wide = bare && ratio ? Math.min(share, tall / ratio) : share, high = ratio ? Math.min(tall, ratio * wide) : Math.max(0.7 * tall, Math.min(tall, (tall * room) / 700)) + top;
      const box = bare ? { left: 2, top, width: wide - 4, height: high - 4 } : { left: 40, top, width: wide - 56 - spare * wide, height: high - top - (xName ? 38 : 24) };
      named = of(xName, now, memory);
      view = scales(box, { x: of(x, now, memory), y: of(y, now, memory) });
      put(element, { viewBox: `0 0 ${wide} ${high}`, height: high, style: part && `width:${wide}px` });
      [inside, over, used] = [[], [], 0];
    },
    /** A line through points; `{ color, width, dashes, opacity }`. */
    line: (points, look) => inside.push(line(points.length > 1 ? path(view, points) : "", look)),
    /** The inside of a polygon. */
    area: (points, look) => painted([points], look),
    /** The insides of many, in one colour. */
    areas: painted,
    /** Many thin lines: what each neuron adds. */
    faint: (lines) => inside.push(faint(view, lines)),
    /** Upright lines at these places, over all the picture. */
    rules: (places, look) => inside.push(line(places.map((v) => `M${view.x(v).toFixed(1)} ${view.box.top}v${view.box.height}`).join(""), { color: "soft", width: 1, dashes: "3 3", ...look })),
    /** Marks at points; `{ kind, color, size }` as handles have them. */
    dots: (points, { kind = "dot", color = "ink", size = 5 } = {}) => over.push(...points.map((p) => svg("path", { d: shape(kind, size), transform: `translate(${view.x(p[0]).toFixed(2)} ${view.y(p[1]).toFixed(2)})`, fill: `var(--${color})`, stroke: "var(--paper)" }))),
    /**
     * A matrix as squares of this side, the first row on top and its left upper corner at a place: positive entries in one colour, negative
     * ones in another, as strong as they are beside `most`.
     */
    cells(px, py, side, rows, most, [plus, minus] = ["orange", "blue"]) {
      const levels = {}, w = view.x(px + side) - view.x(px), h = view.y(py - side) - view.y(py);
      rows.forEach((row, r) => row.forEach((v, c) => {
        const level = Math.sign(v) * Math.min(SHADES, Math.round((SHADES * Math.abs(v)) / most));
        const [x0, x1] = [c, c + 1].map((k) => Math.round(view.x(px) + k * w)), [y0, y1] = [r, r + 1].map((k) => Math.round(view.y(py) + k * h));
        if (level) levels[level] = `${levels[level] ?? ""}M${x0} ${y0}H${x1}V${y1}H${x0}Z`;
      }));
      inside.push(...Object.entries(levels).map(([level, d]) => svg("path", { d, fill: `var(--${Number(level) > 0 ? plus : minus})`, "fill-opacity": Math.abs(Number(level)) / SHADES })));
      inside.push(svg("rect", { x: view.x(px), y: view.y(py), width: rows[0].length * w, height: rows.length * h, fill: "none", stroke: "var(--line)" }));
    },
    /** Words at a place. */
    text: (px, py, words, anchor = "start") => over.push(svg("text", { x: view.x(px), y: view.y(py), "text-anchor": anchor, class: "soft" }, words)),
    /**
     * A point to take hold of: `move(x, y, held)` gives the state that changes, and `held` is true under a pointer. Its words say what stands
     * there; `act` is what Enter does.
     * @param {string} title @param {number} px @param {number} py @param {(x: number, y: number, held: boolean) => any} move
     * @param {{ words?: string, step?: number, kind?: any, color?: string, size?: number, act?: () => any }} [look]
     */
    handle(title, px, py, move, { words = `at ${text(px)}${move.length > 1 ? `, ${text(py)}` : ""}`, step = 0.05, act, ...look } = {}) {
      const k = used++, { x: xs, y: ys } = view.range;
      moves[k] = [px, py, move, step, act];
      const go = (u, v, held) => set(moves[k][2](round(limited(u, view.range.x)), round(limited(v, view.range.y)), held));
      if (!handles[k]) {
        handles[k] = handle({
          label: title, ...look, release: tell, drag: (u, v) => go(view.ux(u), view.uy(v), true),
          move: (dx, dy, far) => {
            const [a, b, how, s] = moves[k], by = s * (far ? 10 : 1), flat = how.length < 2; // a point on a line takes all arrows
            go(limited(a, view.range.x) + (flat ? dx || dy : dx) * by, b + (flat ? 0 : dy) * by, false);
          },
          act: act && (() => {
            set(moves[k][4]());
            tell();
          }),
        });
        front.append(handles[k].element);
      }
      const off = px < xs[0] || px > xs[1];
      handles[k].dress({ label: title, ...look, ...(off ? { kind: px > xs[1] ? "right" : "left" } : { kind: look.kind ?? "dot" }) });
      handles[k].at(view.x(limited(px, xs)), view.y(limited(py, ys)), limited(px, xs), words + (off ? ", off the page" : ""));
    },
    /** After a drawing: what it has is shown, what it no longer has goes. */
    end(words) {
      const { left, top, width, height } = view.box;
      while (handles.length > used) handles.pop().element.remove();
      back.replaceChildren(...(bare ? [] : [axes(view, { xName: named, yName, yTicks, grid })]), svg("svg", { x: left, y: top, width: width + spare * element.viewBox.baseVal.width, height, overflow: "hidden" }, svg("g", { transform: `translate(${-left} ${-top})` }, ...inside)), ...over);
      if (fixed) put(element, { "aria-label": `${label}. ${words}` });
    },
  };
}

/** The numbers behind a figure; the first of a row is its name. @param {{ caption: string, head: string[], rows: any[][] }} what */
function table({ caption, head, rows }) {
  const cell = (v) => (typeof v === "number" ? text(v, 4) : v);
  return html("table", {}, html("caption", {}, caption), html("thead", {}, html("tr", {}, ...head.map((words) => html("th", { scope: "col" }, words)))),
    html("tbody", {}, ...rows.map(([first, ...others]) => html("tr", {}, html("th", { scope: "row" }, String(cell(first))), ...others.map((v) => html("td", {}, cell(v)))))));
}
