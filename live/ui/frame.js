/**
 * What all figures have around their picture: name, description, controls, key hints, numbers, a link, the whole screen.
 *
 * From the top: the name, the row with the main button, the picture, one line that says what is seen, the other controls. The picture
 * and all controls fit one screen, of a phone too. On the whole screen the picture grows with it, text and handles included. A small
 * instance (`data-small` at its host) has neither name nor foot, only *Reset* after its last control: it stands beside the sentence that speaks of it.
 */
import { announcer } from "./announcer.js";
import { button } from "./controls.js";
import { html } from "./dom.js";
import { link, numberOf } from "./share.js";
import { follow } from "./palette.js";
import { CSS } from "./theme.js";

const WIDE = 700; // pixels of a picture before it is enlarged

/**
 * @typedef {{ get: (key: string) => any, set: (key: string, value: any) => void, save_changes: () => void }} Model
 * @param {HTMLElement} el @param {Model} model
 * @param {{ name: string, title: string, about: string, hints: string[], defaults: Record<string, any>, draw: () => void,
 *   numbers?: () => Node, reset: () => void }} how
 */
export function frame(el, model, { name, hints, defaults, draw, numbers, reset, ...words }) {
  const { title, about } = { ...words, ...el.dataset }; // a page may have words of its own
  const root = el.shadowRoot ?? el.attachShadow({ mode: "open" });
  const voice = announcer();
  const small = el.dataset.small !== undefined, picture = html("div", { class: "picture" }), stage = html("div", { class: "stage" }, picture);
  const readout = html("p", { class: "readout" }), top = html("div", { class: "top" }), controls = html("div");
  const drawer = html("div", { class: "drawer", hidden: true }), shared = html("div", { class: "drawer", hidden: true });
  const open = button("Show numbers", () => {
    drawer.hidden = !drawer.hidden;
    open.textContent = drawer.hidden ? "Show numbers" : "Hide numbers";
    open.setAttribute("aria-expanded", String(!drawer.hidden));
    if (!drawer.hidden) drawer.replaceChildren(numbers());
  }, { class: "quiet", "aria-expanded": "false" });
  const share = button("Share this", () => {
    shared.hidden = !shared.hidden;
    share.setAttribute("aria-expanded", String(!shared.hidden));
    if (!shared.hidden) shared.replaceChildren(...sharing(el, name, state(), voice.say));
  }, { class: "quiet", "aria-expanded": "false" });
  const whole = button("Full screen", () => fullScreen(figure, whole, fit), { class: "quiet" });
  const help = button("?", () => help.setAttribute("aria-expanded", String(figure.classList.toggle("helped"))), { class: "quiet help", "aria-label": "Keys", "aria-expanded": "false" });
  const again = button("Reset", () => {
    const linked = /** @type {any} */ (el).foldnetReset;
    if (!linked) reset();
    else {
      linked(); // all of them begin anew, this one too
      /** @type {HTMLElement | null} */ (root.querySelector(".again"))?.focus({ preventScroll: true });
    }
    voice.say("Back to the start.");
  }, { class: "quiet again" });
  const described = `${name}-about`;
  const figure = html(
    "div", { class: small ? "live small" : "live", role: "group", "aria-roledescription": "live figure", "aria-label": title, "aria-describedby": described },
    html("p", { class: "title" }, title),
    html("p", { class: "about", id: described }, about),
    top, stage, readout, controls,
    html("p", { class: "hints keys" }, "By keys: ", ...keyed(hints)),
    ...(small ? [] : [html("div", { class: "row foot" }, again, ...(numbers ? [open] : []), share, whole), drawer, shared, help]), voice.element,
  );
  figure.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && figure.classList.contains("full")) fullScreen(figure, whole, fit);
  });
  root.replaceChildren(html("style", {}, CSS), figure, html("slot"));

  const state = () => Object.fromEntries(Object.keys(defaults).map((key) => [key, model.get(key)]));
  let width = 0;
  const watcher = new ResizeObserver(() => {
    if (Math.abs(picture.clientWidth - width) >= 1) {
      width = picture.clientWidth;
      draw();
    }
    fit();
  });
  /** On the whole screen the picture is drawn as on a page and enlarged as far as it and the controls fit. */
  function fit() {
    const full = figure.classList.contains("full"), room = stage.clientWidth, base = Math.min(WIDE, room);
    const others = [...figure.children].reduce((sum, part) => sum + (part === stage || !part.offsetHeight ? 0 : part.offsetHeight + 8), 32);
    const tall = picture.offsetHeight, zoom = Math.max(1, Math.min(room / base, (innerHeight - others) / Math.max(1, tall)));
    picture.style.width = full ? `${base}px` : "";
    picture.style.transform = full ? `translateX(${((room - base * zoom) / 2).toFixed(1)}px) scale(${zoom.toFixed(3)})` : "";
    stage.style.height = full ? `${Math.ceil(tall * zoom)}px` : "";
  }
  addEventListener("resize", fit);
  const forget = follow(figure, () => {});
  watcher.observe(picture);
  // a button that is off from now on, because it did all it could, hands the focus to its neighbour: else a reader by keys is nowhere
  const handing = new MutationObserver((changes) => changes.forEach((/** @type {{ target: any }} */ { target }) => {
    if (target.disabled && root.activeElement === target) target.closest(".row").querySelector("button:not(:disabled)")?.focus();
  }));
  for (const part of [top, controls]) handing.observe(part, { subtree: true, attributes: true, attributeFilter: ["disabled"] });
  return {
    root: figure, picture, small, say: voice.say,
    /** Put the controls: what has the main button above the picture, the rest below it. @param {Element} main @param {...Element} rest */
    controls(main, ...rest) {
      top.append(main);
      controls.append(...rest);
      if (small) (rest.at(-1) ?? main).append(again);
    },
    /** Pixels there are for the picture. */
    get width() {
      return Math.max(240, picture.clientWidth || 640);
    },
    /** The line under the picture: texts, and what is in arrays is bold; "\n" begins a new line. @param {(string | string[])[]} words */
    read(...words) {
      const kept = (w) => w.replaceAll(" %", "\u00a0%"); // a number and its sign stay on one line
      readout.replaceChildren(...words.map((w) => (Array.isArray(w) ? html("b", {}, kept(w[0])) : kept(w))));
      if (!drawer.hidden && numbers && !drawer.contains(root.activeElement)) drawer.replaceChildren(numbers());
      if (!shared.hidden && !shared.contains(root.activeElement)) shared.replaceChildren(...sharing(el, name, state(), voice.say));
    },
    /** Show the numbers anew after one of them was typed; the field keeps the focus. */
    renumber() {
      const label = root.activeElement?.getAttribute("aria-label");
      drawer.replaceChildren(numbers());
      if (label) drawer.querySelector(`[aria-label="${label}"]`)?.focus();
    },
    /** Change the state, tell whoever listens. @param {Record<string, any>} changes */
    keep(changes) {
      for (const [key, value] of Object.entries(changes)) model.set(key, value);
      model.save_changes();
    },
    /** Take everything away again. */
    remove() {
      watcher.disconnect();
      removeEventListener("resize", fit);
      forget();
      root.replaceChildren();
    },
  };
}

/** Hints with their keys marked: "[arrows] move it" has a key in brackets. */
function keyed(hints) {
  return hints.flatMap((hint, i) => [
    ...(i ? ["; "] : []),
    ...hint.split(/(\[[^\]]+\])/).filter(Boolean).map((part) => (part[0] === "[" ? html("kbd", {}, part.slice(1, -1)) : part)),
  ]).concat(".");
}

/** The link that opens the figure as it is now, and the line of Python that does. */
function sharing(el, name, state, say) {
  const address = link(name, state, numberOf(el, name)), line = `live("${name}", **${python(state)})`;
  const field = (label, words) => {
    const area = html("textarea", { readonly: true, rows: 2, "aria-label": label, spellcheck: "false" });
    area.value = words;
    const copy = button(`Copy ${label}`, async () => {
      area.select();
      try {
        await navigator.clipboard.writeText(words);
        say("Copied.");
        copy.textContent = "Copied";
      } catch {
        say("Selected: copy it with your keyboard.");
      }
    });
    return html("div", {}, area, copy);
  };
  return [...(address ? [field("the link", address)] : []), field("the line of Python", line)];
}

/** A value of JSON as Python writes it. */
function python(value) {
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}: ${python(v)}`).join(", ")}}`;
  return JSON.stringify(value);
}

/** The whole screen where the browser gives it, else the whole window. */
function fullScreen(figure, whole, fit) {
  const leave = () => {
    figure.classList.remove("full");
    whole.textContent = "Full screen";
    fit();
  };
  if (figure.classList.contains("full")) {
    if (document.fullscreenElement) document.exitFullscreen();
    return leave();
  }
  figure.classList.add("full");
  whole.textContent = "Leave full screen";
  fit();
  figure.requestFullscreen?.().then(() => {
    figure.addEventListener("fullscreenchange", () => document.fullscreenElement || leave());
  }).catch(() => {});
}
