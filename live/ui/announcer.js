/** One polite voice a figure: it speaks when a hand lets go or a training ends, never in every frame. */
import { html } from "./dom.js";

export function announcer() {
  const element = html("p", { class: "said", role: "status" });
  let waiting = /** @type {any} */ (0); // the number of a timer
  return {
    element,
    /** @param {string} words what a screen reader says next; of many in a row the last one */
    say(words) {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        element.textContent = words;
      }, 120);
    },
  };
}
