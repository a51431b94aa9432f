/** The frame around a guess, a question and a count. */
import { announcer } from "../ui/announcer.js";
import { html } from "../ui/dom.js";
import { follow } from "../ui/palette.js";
import { CSS } from "./look.js";

/** Words in which *this* is slanted and `this` is code. @param {string} words @returns {(Node | string)[]} */
export const rich = (words) => words.split(/(\*[^*\s][^*]*\*|`[^`]+`)/).filter(Boolean).map((part) => (/^\*.+\*$/.test(part) ? html("em", {}, part.slice(1, -1)) : /^`.+`$/.test(part) ? html("code", {}, part.slice(1, -1)) : part));
export const button = (words, act, kind) => html("button", { type: "button", class: kind, onclick: act }, words);

/** Name and question, room for the rest, and a voice. @param {string} look more rules */
export function shell(host, name, question, look) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" }), voice = announcer();
  const inner = html("div"), box = html("div", { class: "g", role: "group", "aria-label": `${name}: ${question.replace(/[*`]/g, "")}` }, html("p", { class: "q" }, html("i", {}, `${name}.`), ...rich(question)), inner, voice.element);
  root.replaceChildren(html("style", {}, CSS + look), box, html("slot"));
  follow(box, () => {});
  return { inner, say: voice.say };
}

/** Bring all of one sort on the page to life. @param {string} sort @param {(host: HTMLElement, data: any) => void} begin */
export function mount(sort, begin) {
  document.querySelectorAll(`[data-guess="${sort}"]:not([data-ready])`).forEach((/** @type {HTMLElement} */ host) => {
    host.dataset.ready = "1";
    begin(host, JSON.parse(host.querySelector('script[type="application/json"]').textContent));
  });
}
