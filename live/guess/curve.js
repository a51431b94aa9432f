/** A guess that is drawn by hand, or set by keys at a few places. */
import { axes, path, scales } from "../ui/axes.js";
import { html, put, svg } from "../ui/dom.js";
import { limited, NEAR, plain } from "./kinds.js";

export const LOOK = `svg{display:block;width:100%;max-width:30rem;touch-action:none;cursor:crosshair;user-select:none;-webkit-user-select:none}
svg text{fill:var(--ink);font-size:13px}
svg .soft{fill:var(--soft)}
.knob:focus-visible{outline:none}
.knob:focus-visible circle{stroke:var(--ink);stroke-width:2}`;

const COLUMNS = 25, KNOBS = 4, WIDE = 400, TALL = 250; // a knob at every fourth column

/** @param {any} data @returns {import("./kinds.js").Kind} */
export function curve({ curve: truth, window: [x, y], labels: [xName, yName] }, changed) {
  const view = scales({ left: 44, top: 24, width: WIDE - 58, height: TALL - 62 }, { x, y }), { box } = view;
  const place = (i) => x[0] + ((x[1] - x[0]) * i) / (COLUMNS - 1), drawn = Array(COLUMNS).fill(null), middle = (y[0] + y[1]) / 2;
  const line = svg("path", { fill: "none", stroke: "var(--blue)", "stroke-width": 2.5, "stroke-linejoin": "round" }), over = svg("g");
  const prompt = svg("text", { class: "soft", x: box.left + box.width / 2, y: box.top + box.height / 4, "text-anchor": "middle" }, "draw here, from left to right");
  let last = null, over_ = false;
  const knobs = Array.from({ length: (COLUMNS - 1) / KNOBS + 1 }, (_, k) => k * KNOBS).map((i) => {
    const dot = svg("circle", { r: 7, fill: "var(--paper)", stroke: "var(--blue)", "stroke-width": 2 });
    const element = svg("g", { class: "knob", tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-label": `height at ${xName} = ${plain(place(i))}`, "aria-valuemin": y[0], "aria-valuemax": y[1] }, dot);
    element.addEventListener("keydown", (event) => {
      const way = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 }[event.key];
      if (!way || over_ || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      const near = drawn[i] ?? drawn.reduce((best, v, k) => (v !== null && (!best || Math.abs(k - i) < best[0]) ? [Math.abs(k - i), v] : best), null)?.[1] ?? middle;
      drawn[i] = limited(drawn[i] === null ? near : near + (way * (y[1] - y[0])) / 40, ...y);
      for (const side of [-KNOBS, KNOBS]) { // straight to the next knob that was placed
        const to = drawn[i + side] ?? null;
        for (let k = 1; to !== null && k < KNOBS; k++) drawn[i + (side * k) / KNOBS] = drawn[i] + ((to - drawn[i]) * k) / KNOBS;
      }
      show();
      changed();
    });
    return { i, dot, element };
  });
  const element = svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, role: "group", "aria-label": "the curve you draw" }, axes(view, { xName, yName }), prompt, line, over, ...knobs.map((k) => k.element));
  /** The whole curve: between columns that were drawn it is straight, before and after them level. */
  function whole() {
    const known = drawn.flatMap((v, i) => (v === null ? [] : [i]));
    return drawn.map((v, i) => {
      const left = known.filter((k) => k <= i).at(-1) ?? known[0], right = known.find((k) => k >= i) ?? known.at(-1);
      return v ?? (left === right ? drawn[left] : drawn[left] + ((drawn[right] - drawn[left]) * (i - left)) / (right - left));
    });
  }
  function show() {
    const some = drawn.flatMap((v, i) => (v === null ? [] : [[place(i), v]]));
    put(line, { d: some.length > 1 ? path(view, some) : "M0 0" });
    if (some.length) prompt.remove();
    for (const { i, dot, element } of knobs) {
      put(dot, { cx: view.x(place(i)), cy: view.y(drawn[i] ?? middle), fill: drawn[i] === null ? "var(--paper)" : "var(--blue)", "stroke-dasharray": drawn[i] === null ? "3 3" : null });
      put(element, { "aria-valuenow": Number((drawn[i] ?? middle).toPrecision(4)), "aria-valuetext": drawn[i] === null ? "not yet placed" : plain(drawn[i]) });
    }
  }
  const where = (event) => {
    const r = element.getBoundingClientRect();
    const c = ((view.ux(((event.clientX - r.left) / r.width) * WIDE) - x[0]) / (x[1] - x[0])) * (COLUMNS - 1);
    return [limited(c, 0, COLUMNS - 1), limited(view.uy(((event.clientY - r.top) / r.height) * TALL), ...y)];
  };
  const stroke = (event) => {
    const [c, v] = where(event), [c0, v0] = last ?? [c, v], [a, b] = [Math.min(c, c0), Math.max(c, c0)];
    for (let i = Math.ceil(a); i <= b; i++) drawn[i] = c === c0 ? v : v0 + ((v - v0) * (i - c0)) / (c - c0);
    drawn[Math.round(c)] = v;
    last = [c, v];
    show();
    changed();
  };
  put(element, {
    onpointerdown: (event) => {
      if (over_ || event.button) return;
      element.setPointerCapture(event.pointerId);
      last = null;
      stroke(event);
      event.preventDefault();
    },
    onpointermove: (event) => !over_ && element.hasPointerCapture(event.pointerId) && stroke(event),
  });
  show();
  const at = (v) => {
    const k = Math.max(1, truth.findIndex((p, i) => i && p[0] >= v)), [p, q] = [truth[k - 1], truth[k]];
    return limited(p[1] + ((q[1] - p[1]) * (limited(v, p[0], q[0]) - p[0])) / (q[0] - p[0] || 1), ...y);
  };
  return {
    element,
    value: () => (drawn.filter((v) => v !== null).length > 1 ? whole().map((v) => Number(v.toPrecision(4))) : null),
    words: (g) => `from ${plain(g[0])} by ${plain(g[(COLUMNS - 1) / 2])} to ${plain(g.at(-1))}`,
    close: (g) => g.reduce((sum, v, i) => sum + Math.abs(v - at(place(i))), 0) / COLUMNS <= NEAR * (y[1] - y[0]),
    reveal(g) {
      over_ = true;
      if (g) drawn.splice(0, COLUMNS, ...g);
      show();
      prompt.remove();
      element.style.touchAction = "auto";
      for (const knob of knobs) knob.element.remove();
      const inside = truth.filter((p) => p[0] >= x[0] && p[0] <= x[1]).map((p) => [p[0], limited(p[1], ...y)]);
      over.append(svg("path", { d: path(view, inside), fill: "none", stroke: "var(--orange)", "stroke-width": 2.5, "stroke-dasharray": "7 4", "stroke-linejoin": "round" }));
      element.setAttribute("role", "img");
      element.after(html("p", {}, ...(g ? [html("b", { class: "me" }, "━ you"), "  "] : []), html("b", { class: "it" }, "╍ it is this")));
    },
  };
}

