/** A guess, or an answer, that is one of a few. */
import { html } from "../ui/dom.js";

export const LOOK = `fieldset{border:0;margin:0;padding:0}
legend{padding:0}
fieldset label{display:flex;gap:.55rem;align-items:center;min-height:2.4rem;cursor:pointer;width:fit-content}
input[type=radio]{width:1.2rem;height:1.2rem;flex:none;accent-color:var(--blue);margin:0}`;

let groups = 0;

/** Radio buttons under a name. */
export function radios(among, changed, label) {
  const name = `c${++groups}`;
  const inputs = among.map((words) => html("input", { type: "radio", name, value: words, onchange: changed }));
  const labels = among.map((words, i) => html("label", {}, inputs[i], html("span", {}, words)));
  return { inputs, labels, element: html("fieldset", { "aria-label": label }, ...labels), value: () => inputs.find((i) => i.checked)?.value ?? null };
}

/** @param {any} data @returns {import("./kinds.js").Kind} */
export function choice({ among, truth }, changed) {
  const { inputs, labels, element, value } = radios(among, changed, "your guess");
  return {
    element, value, words: (g) => g, close: (g) => g === truth,
    reveal(g) {
      inputs.forEach((input, i) => {
        input.checked = input.value === g;
        input.disabled = true;
        if (input.value === g) labels[i].append(html("b", { class: "me" }, "● you"));
        if (input.value === truth) labels[i].append(html("b", { class: "it" }, "◆ it is this"));
      });
    },
  };
}

