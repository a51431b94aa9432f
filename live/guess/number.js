/** A guess that is a number, or several, on one scale. */
import { html, put } from "../ui/dom.js";
import { limited, NEAR, plain, TRUE } from "./kinds.js";

export const LOOK = `${TRUE}
input[type=number]{width:7em;padding:.3rem .4rem}
.mark{margin:.5rem 0}
.mark>b{display:block;font-weight:600}
.bar{position:relative;height:44px}
.bar input{appearance:none;-webkit-appearance:none;display:block;width:100%;height:44px;margin:0;background:none;cursor:pointer}
.bar input::-webkit-slider-runnable-track{height:4px;border-radius:2px;background:var(--line)}
.bar input::-moz-range-track{height:4px;border-radius:2px;background:var(--line)}
.bar input::-webkit-slider-thumb{-webkit-appearance:none;width:24px;height:24px;margin-top:-10px;border:0;border-radius:50%;background:var(--blue)}
.bar input::-moz-range-thumb{width:24px;height:24px;border:0;border-radius:50%;background:var(--blue)}
.bar input.un::-webkit-slider-thumb{opacity:0}
.bar input.un::-moz-range-thumb{opacity:0}
.un::-webkit-slider-runnable-track{background:repeating-linear-gradient(90deg,var(--soft) 0 6px,transparent 6px 12px)!important}
.un::-moz-range-track{background:repeating-linear-gradient(90deg,var(--soft) 0 6px,transparent 6px 12px)!important}
.ends{display:flex;justify-content:space-between;gap:1rem;margin-top:-.6rem}`;

/** One mark or several on one scale. @param {any} data @returns {import("./kinds.js").Kind} */
export function number({ marks, between: [low, high], log, unit, whole }, changed) {
  const steps = whole && high - low <= 200 && !log ? high - low : 100;
  const share = (v) => limited(log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low), 0, 1);
  const at = (k) => {
    const v = log ? low * (high / low) ** (k / steps) : low + ((high - low) * k) / steps;
    return steps < 100 || whole ? Math.round(v) : Number(v.toPrecision(log ? 2 : 3));
  };
  const named = (v) => (Math.abs(v) === 1 && /^[a-z]+s$/.test(unit) ? unit.slice(0, -1) : unit); // one neuron
  const shown = (v) => `${plain(v)}${unit && ` ${named(v)}`}`;
  const guess = marks.map(() => null);
  const rows = marks.map(([name], i) => {
    const range = html("input", { type: "range", min: 0, max: steps, step: 1, class: "un", "aria-label": `your guess${name && ` for ${name}`}`, "aria-valuetext": "not yet placed" });
    const field = html("input", { type: "number", min: low, max: high, step: "any", "aria-label": `your guess${name && ` for ${name}`} as a number` });
    const said = html("small", {}, "not yet placed"), bar = html("div", { class: "bar" }, range);
    range.value = "0";
    const place = (v) => {
      guess[i] = v;
      range.classList.toggle("un", v === null);
      said.textContent = v === null ? "not yet placed" : shown(v);
      put(range, { "aria-valuetext": said.textContent });
      changed();
    };
    const slid = () => {
      place(at(Number(range.value)));
      field.value = String(guess[i]);
    };
    put(range, { oninput: slid, onclick: slid, onkeydown: (event) => /^(Arrow|Home|End|Page)/.test(event.key) && guess[i] === null && slid() });
    put(field, {
      oninput: () => {
        const v = field.value === "" ? Number.NaN : Number(field.value), fits = Number.isFinite(v) && !(log && v <= 0);
        if (fits) range.value = String(Math.round(share(v) * steps));
        place(fits ? v : null);
      },
    });
    return { range, field, bar, place, element: html("div", { class: "mark" }, ...(name ? [html("b", {}, name)] : []), bar, html("div", { class: "ends", "aria-hidden": "true" }, html("small", {}, shown(low)), html("small", {}, shown(high))), html("div", { class: "row" }, field, ...(unit ? [unit] : []), said)) };
  });
  const told = (g, v, name) => `${name && `${name}: `}${shown(g[v])}`;
  return {
    element: html("div", {}, ...rows.map((r) => r.element)),
    value: () => (guess.includes(null) ? null : guess),
    words: (g) => marks.map(([name], i) => told(g, i, name)).join(", "),
    close: (g) => marks.every(([, truth], i) => Math.abs(share(g[i]) - share(truth)) <= NEAR),
    reveal(g) {
      rows.forEach(({ range, field, bar, place }, i) => {
        if (g) {
          range.value = String(Math.round(share(g[i]) * steps));
          place(g[i]);
        }
        range.disabled = true;
        field.parentElement.remove();
        const truth = marks[i][1];
        bar.append(html("span", { class: "true", style: `left:calc(12px + (100% - 24px)*${share(truth).toFixed(4)})` }));
        bar.nextElementSibling.after(html("p", {}, ...(g ? [html("b", { class: "me" }, `● you: ${shown(g[i])}`), "  "] : []), html("b", { class: "it" }, `◆ it is ${shown(truth)}`)));
      });
    },
  };
}

