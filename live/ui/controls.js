/** Buttons, sliders, menus, and the player that runs a training: play, pause, step. Nothing starts by itself. */
import { html, put } from "./dom.js";
import { still } from "./palette.js";

/** @param {string} words @param {() => void} act */
export const button = (words, act, attributes = {}) => html("button", { type: "button", onclick: act, ...attributes }, words);

/**
 * A slider with its value beside it. Values are those of a list, so that both small and large ones are at hand.
 * @param {string} words @param {number[]} list @param {number} now @param {(value: number, done: boolean) => void} act
 * @param {(value: number) => string} [show] the value in words
 */
export function slider(words, list, now, act, show = String) {
  // a state from a notebook or a link may lie between the values of the list; what is shown is what is used
  const values = list.some((v) => Math.abs(v - now) < 1e-9) ? list : [...list, now].sort((a, b) => a - b);
  const nearest = (v) => values.reduce((best, w, i) => (Math.abs(w - v) < Math.abs(values[best] - v) ? i : best), 0);
  const out = html("output", { "aria-live": "off" }), input = html("input", { type: "range", min: 0, max: values.length - 1, step: 1, "aria-label": words });
  const shown = () => {
    out.textContent = show(values[input.value]);
    put(input, { "aria-valuetext": show(values[input.value]) });
  };
  const moved = (done) => () => {
    shown();
    act(values[input.value], done);
  };
  put(input, { oninput: moved(false), onchange: moved(true) });
  const set = (v) => {
    input.value = String(nearest(v));
    shown();
  };
  set(now);
  /** A tick under a value. @param {number} v */
  const mark = (v) => {
    const share = nearest(v) / (values.length - 1);
    input.style.background = `linear-gradient(var(--orange),var(--orange)) calc(6.5px + ${share.toFixed(4)}*(100% - 13px)) 100%/3px 7px no-repeat`;
  };
  return { element: html("label", {}, words, input, out), input, set, mark };
}

/** @param {string} words @param {Record<string, string>} options value to words @param {(value: string) => void} act */
export function menu(words, options, now, act) {
  const select = html("select", { onchange: () => act(select.value) });
  for (const [value, name] of Object.entries(options)) select.append(html("option", { value, selected: value === now }, name));
  const set = (value) => {
    select.value = value;
  };
  set(now);
  return { element: html("label", {}, words, select), input: select, set };
}

/** @param {string} words @param {boolean} now @param {(on: boolean) => void} act */
export function check(words, now, act) {
  const input = html("input", { type: "checkbox", onchange: () => act(input.checked) });
  const set = (on) => {
    input.checked = on;
  };
  set(now);
  return { element: html("label", {}, input, words), input, set };
}

/** What stops the player that runs in a figure: where there are two, one stops when the other starts. @type {WeakMap<Node, () => void>} */
const stops = new WeakMap();
const ACTS = ["pointerdown", "keydown", "input", "change", "click"]; // what a reader does

/**
 * Play, pause and step. `step()` does one step and says whether there is more to do; `draw()` shows where things are, `ended(why)`
 * is called at a pause and at the end. A frame computes for at most 8 ms and does at most `perFrame` steps, more of both where the
 * picture itself takes longer; where the reader asked for less motion, play runs `most` steps and shows only the result, or what there is
 * of it when the reader does something meanwhile.
 * @param {{ step: () => boolean, draw: () => void, ended: (why: "paused" | "done") => void, perFrame?: number, most?: number,
 *   name?: string, stepSize?: number }} how
 */
export function player({ step, draw, ended, perFrame = 10, most = 2000, name = "Train", stepSize = 1 }) {
  let running = false, frame = 0, left = 0, drawing = 0;
  const play = button(name, () => (running ? pause() : start()), { class: "main" });
  const one = button(stepSize > 1 ? `${stepSize} steps` : "Step", () => {
    pause(true);
    for (let k = 0, more = true; k < stepSize && more; k++) more = step();
    draw();
    ended("paused");
  });
  const shown = () => {
    play.textContent = running ? "Pause" : name;
  };
  function tick() {
    frame = 0;
    if (!play.isConnected) return pause(true); // the figure was taken away
    const quiet = still(), start = performance.now();
    const budget = quiet ? 40 : Math.max(8, Math.min(40, drawing)), steps = quiet ? Infinity : perFrame * Math.max(1, drawing / 16);
    let more = true;
    for (let k = 0; more && left > 0 && k < steps && performance.now() - start < budget; k++) {
      more = step();
      left--;
    }
    const computed = performance.now();
    if (!quiet) draw();
    drawing = performance.now() - computed;
    if (more && left > 0) frame = requestAnimationFrame(tick);
    else pause(false, more ? "paused" : "done");
  }
  function start() {
    const root = play.getRootNode();
    stops.get(root)?.();
    stops.set(root, pause);
    running = true;
    left = still() ? most : Infinity;
    shown();
    frame = requestAnimationFrame(tick);
    if (still()) for (const kind of ACTS) root.addEventListener(kind, acted, true);
  }
  /** Nothing is drawn meanwhile, so what a hand does would begin where the training began: first show and keep how far it came. */
  function acted(event) {
    if (!event.composedPath().includes(play) && !["Tab", "Shift"].includes(event.key)) pause();
  }
  /** @param {boolean} [silent] @param {"paused" | "done"} [why] */
  function pause(silent = false, why = "paused") {
    cancelAnimationFrame(frame);
    if (!running) return;
    running = false;
    for (const kind of ACTS) play.getRootNode().removeEventListener(kind, acted, true);
    shown();
    if (silent) return;
    draw();
    ended(why);
  }
  return { element: html("span", { class: "row", style: "margin:0" }, play, one), play, one, start, pause, running: () => running };
}
