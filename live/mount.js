/** Bring the figures of a page to life: each element with data-live="name" that has not been yet. */
import { fromAddress } from "./ui/share.js";

/** A stand-in for anywidget's model where no kernel runs. @param {Record<string, any>} state @returns {import("./ui/frame.js").Model} */
export function standIn(state) {
  const listeners = {};
  return {
    get: (key) => state[key],
    set(key, value) {
      state[key] = value;
      (listeners[`change:${key}`] ?? []).forEach((act) => act());
    },
    on: (event, act) => (listeners[event] ??= []).push(act),
    off: (event, act) => {
      listeners[event] = (listeners[event] ?? []).filter((other) => other !== act);
    },
    save_changes() {},
  };
}

/** @param {string} name @param {{ defaults: Record<string, any>, render: (view: { model: any, el: HTMLElement }) => void }} figure */
export function mount(name, figure) {
  document.querySelectorAll(`[data-live="${name}"]:not([data-ready])`).forEach((host) => {
    const first = !document.querySelector(`[data-live="${name}"][data-ready]`); // the address speaks of the first one
    host.dataset.ready = "1";
    const given = host.querySelector('script[type="application/json"]');
    const asked = first ? fromAddress(name, figure.defaults) : null;
    const state = { ...structuredClone(figure.defaults), ...(given ? JSON.parse(given.textContent) : {}), ...asked };
    figure.render({ model: standIn(state), el: host });
    if (asked) host.scrollIntoView({ block: "center" });
  });
  (globalThis.foldnetLive ??= {})[name] = figure;
}
