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

/** The linked figures of this page, whichever script brought them: each with its state and how to draw it anew. @type {Record<string, { state: any, first: any, draw: () => void, deaf: boolean }[]>} */
const linked = (globalThis.foldnetLinked ??= {});

/** A stand-in that tells the others of its name what has changed in it, once a frame: they begin anew with that. @param {typeof linked[string][number]} me @param {typeof linked[string]} all */
function shared(me, all) {
  let news = {};
  const tell = () => {
    for (const other of all) if (other !== me && Object.keys(news).some((key) => differs(other.state[key], news[key]))) again(other, news);
    news = {};
  };
  return { ...standIn(me.state),
    set(key, value) {
      if (!me.deaf && differs(me.state[key], value)) news[key] = value;
      me.state[key] = value;
    },
    save_changes() {
      if (Object.keys(news).length) requestAnimationFrame(tell);
    } };
}
const differs = (a, b) => JSON.stringify(a) !== JSON.stringify(b);
function again(one, changes) {
  Object.assign(one.state, structuredClone(changes));
  one.deaf = true; // what it does of itself is no news
  one.draw();
  one.deaf = false;
}

/** @param {string} name @param {Figure} figure */
export function mount(name, figure) {
  document.querySelectorAll(`[data-live="${name}"]:not([data-ready])`).forEach((/** @type {HTMLElement} */ host) => {
    const number = numberOf(host, name); // the address says of which one it speaks
    host.dataset.ready = "1";
    const given = host.querySelector('script[type="application/json"]');
    const group = host.dataset.linked === undefined ? null : (linked[`${name} ${host.dataset.linked}`] ??= []), me = { state: {}, first: {}, draw: () => {}, deaf: true };
    let remove = () => {};
    const begin = (asked) => {
      const state = { ...structuredClone(figure.defaults), ...(given ? JSON.parse(given.textContent) : {}), ...asked };
      Object.assign(host, { foldnetState: state }); // a question of the page may ask for it
      Object.assign(me, { state, first: structuredClone(state) });
      me.draw = () => {
        remove();
        remove = figure.render({ model: group ? shared(me, group) : standIn(state), el: host });
      };
      try {
        me.draw();
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
    if (!group) return;
    group.push(me);
    me.deaf = false;
    Object.assign(host, { foldnetReset: () => group.forEach((one) => again(one, one.first)) });
  });
  (globalThis.foldnetLive ??= {})[name] = (view) => attach(figure, view);
}
