/** A guess that is a mark on a picture. */
import { html, put } from "../ui/dom.js";
import { limited, NEAR, plain, TRUE } from "./kinds.js";

export const LOOK = `${TRUE}
.pic{position:relative;width:fit-content;max-width:100%;margin:.3rem 0;cursor:crosshair}
.pic img{display:block;max-width:100%}
.dark .pic img{filter:invert(.9) hue-rotate(180deg)}
.dot{position:absolute;width:18px;height:18px;margin:-9px;border-radius:50%;background:var(--blue);border:2px solid var(--paper);pointer-events:none}
.pic .true{margin:-9px}
input[type=number]{width:7em;padding:.3rem .4rem}`;

/** @param {any} data @returns {import("./kinds.js").Kind} */
export function picture({ truth, box: [left, top, wide, tall], x, y, logs, labels }, changed, host) {
  const scale = (ends, log) => (log ? ends.map(Math.log10) : ends), back = (v, log) => (log ? 10 ** v : v);
  const [xs, ys] = [scale(x, logs[0]), scale(y, logs[1])];
  const shareX = (v) => ((logs[0] ? Math.log10(v) : v) - xs[0]) / (xs[1] - xs[0]), shareY = (v) => (ys[1] - (logs[1] ? Math.log10(v) : v)) / (ys[1] - ys[0]);
  const put_ = (span, v) => put(span, { style: `left:${((left + wide * shareX(v[0])) * 100).toFixed(2)}%;top:${((top + tall * shareY(v[1])) * 100).toFixed(2)}%` });
  const image = host.querySelector("img").cloneNode(), dot = html("span", { class: "dot", hidden: true });
  let guess = null, done = false;
  const pic = html("div", { class: "pic" }, image, dot);
  const fields = labels.map((name, k) => html("input", { type: "number", step: "any", "aria-label": `your mark: ${name}`, oninput: typed, onkeydown: (event) => stepped(event, k) }));
  function set(v, write = true) {
    guess = v;
    dot.hidden = !v;
    if (v) put_(dot, v);
    if (v && write) fields.forEach((f, k) => {
      f.value = String(v[k]);
    });
    changed();
  }
  function typed() {
    const v = fields.map((f) => (f.value === "" ? Number.NaN : Number(f.value)));
    set(v.every(Number.isFinite) && !v.some((c, k) => logs[k] && c <= 0) ? v : null, false);
  }
  /** Arrows up and down step by a fiftieth of the axis; in an empty field they begin in the middle of nothing: at its low end. */
  function stepped(event, k) {
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key], ends = [xs, ys][k];
    if (!way) return;
    event.preventDefault();
    const now = fields[k].value === "" ? ends[0] : (logs[k] ? Math.log10(Number(fields[k].value)) : Number(fields[k].value)) + (way * (ends[1] - ends[0])) / 50;
    fields[k].value = String(Number(back(limited(now, ...ends), logs[k]).toPrecision(3)));
    typed();
  }
  put(pic, {
    onclick: (event) => {
      const r = image.getBoundingClientRect();
      const u = limited(((event.clientX - r.left) / r.width - left) / wide, 0, 1), v = limited(((event.clientY - r.top) / r.height - top) / tall, 0, 1);
      if (!done) set([back(xs[0] + u * (xs[1] - xs[0]), logs[0]), back(ys[1] - v * (ys[1] - ys[0]), logs[1])].map((c) => Number(c.toPrecision(3))));
    },
  });
  const typing = html("div", { class: "row" }, ...fields.flatMap((f, k) => [html("span", { "aria-hidden": "true" }, labels[k]), f]));
  return {
    element: html("div", {}, html("small", {}, "Click or tap the picture, or type where."), pic, typing),
    value: () => guess,
    words: (g) => g.map((v, k) => `${labels[k]} = ${plain(v)}`).join(", "),
    close: (g) => Math.hypot(shareX(g[0]) - shareX(truth[0]), shareY(g[1]) - shareY(truth[1])) <= NEAR,
    reveal(g) {
      set(g);
      done = true;
      typing.remove();
      const span = html("span", { class: "true" });
      put_(span, truth);
      pic.append(span);
      pic.after(html("p", {}, ...(g ? [html("b", { class: "me" }, "● you"), "  "] : []), html("b", { class: "it" }, "◆ it is here")));
    },
  };
}
