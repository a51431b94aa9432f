/** Bring the figures of a page to life: each element with data-live="name" that has not been yet. And, for a kernel, as anywidgets. */
import { fromAddress, numberOf } from "./ui/share.js";

/** @typedef {{ defaults: Record<string, any>, render: (view: { model: import("./ui/frame.js").Model, el: HTMLElement }) => () => void }} Figure */

/** A stand-in for a kernel's model where none runs. @param {Record<string, any>} state @returns {import("./ui/frame.js").Model} */
export function standIn(state) {
  return {
    get: (key) => state[key],
    set(key, value) {
      state[key] = value;
    },
    save_changes() {},
  };
}

/**
 * A figure on anywidget's model: what the reader does goes to Python, and where Python changes a value the figure begins anew there.
 * @param {Figure} figure @param {{ model: any, el: HTMLElement }} view @returns {() => void} takes it away again
 */
export function attach(figure, { model, el }) {
  const keys = Object.keys(figure.defaults).map((key) => `change:${key}`);
  el.dataset.lmSuppressShortcuts = "true"; // else JupyterLab's command mode eats the arrow keys
  let own = false, waiting = false, remove = begin();
  function begin() {
    let here = true;
    const mine = {
      get: (key) => model.get(key),
      set(key, value) {
        own = true;
        if (here) model.set(key, value);
        own = false;
      },
      save_changes: () => here && model.save_changes(),
    };
    const away = figure.render({ model: mine, el });
    return () => {
      here = false;
      away();
    };
  }
  const changed = () => {
    if (own || waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      remove();
      remove = begin();
    });
  };
  keys.forEach((key) => model.on(key, changed));
  return () => {
    keys.forEach((key) => model.off(key, changed));
    remove();
  };
}

/** @param {string} name @param {Figure} figure */
export function mount(name, figure) {
  document.querySelectorAll(`[data-live="${name}"]:not([data-ready])`).forEach((/** @type {HTMLElement} */ host) => {
    const number = numberOf(host, name); // the address says of which one it speaks
    host.dataset.ready = "1";
    const given = host.querySelector('script[type="application/json"]');
    let remove = () => {};
    const begin = (asked) => {
      remove();
      const state = { ...structuredClone(figure.defaults), ...(given ? JSON.parse(given.textContent) : {}), ...asked };
      Object.assign(host, { foldnetState: state }); // a question of the page may ask for it
      try {
        remove = figure.render({ model: standIn(state), el: host });
      } catch (error) {
        if (!asked) throw error;
        return begin(null); // a state that no figure wrote: as if there were none
      }
      if (asked) host.scrollIntoView({ block: "center" });
    };
    begin(fromAddress(name, figure.defaults, number));
    addEventListener("hashchange", () => {
      const asked = fromAddress(name, figure.defaults, number); // a link that was put into the address of the open page
      if (asked) begin(asked);
    });
  });
  (globalThis.foldnetLive ??= {})[name] = (view) => attach(figure, view);
}
