/** How a guess goes: it is made or passed over, then the truth stands beside it, and it is kept. */
import { html } from "../ui/dom.js";
import { KEY, page, read, write } from "./kept.js";
import { button, rich, shell } from "./shell.js";

/** A guess, and once it is made the truth beside it. */
export const guess = (kinds, looks) => (host, data) => {
  const { inner, say } = shell(host, "Guess", data.question, looks), key = `${KEY}${page()} ${data.question}`;
  function begin(moved) {
    delete host.dataset.told;
    const made = read(key);
    const kind = kinds[data.kind](data, changed, host);
    const mine = button("This is my guess", () => settle(kind.value()), "main"), skip = button("Show me", () => settle(null), "quiet");
    const row = html("div", { class: "row" }, mine, skip), told = html("div", { class: "told", tabindex: -1 });
    function changed() {
      mine.disabled = !kind?.value();
    }
    function settle(value) {
      const close = value !== null && kind.close(value);
      write(key, { value, close, skipped: value === null, question: data.question, mine: value === null ? "" : kind.words(value), truth: data.answer });
      reveal(value);
      told.focus({ preventScroll: true });
      say(`${value === null ? "" : `You said ${kind.words(value)}. `}It is ${data.answer}.`);
    }
    function reveal(value) {
      host.dataset.told = "1"; // the page may have kept back what comes next
      host.dispatchEvent(new Event("told", { bubbles: true }));
      kind.reveal(value);
      row.remove();
      const close = value !== null && kind.close(value);
      const verdict = value === null ? "You did not guess." : data.kind === "choice" ? (close ? "You are right." : "It is another one.") : close ? "That is close." : "That is not close.";
      told.replaceChildren(html("p", {}, html("b", close ? { class: "good" } : {}, verdict), " ", ...rich(data.because)),
        html("div", { class: "row" }, button("Guess again", () => {
          write(key, null);
          begin(true);
        }, "quiet")));
      inner.append(told);
    }
    inner.replaceChildren(kind.element, row);
    if (made && !fits(made.value)) write(key, null);
    else if (made) return reveal(made.value);
    changed();
    if (moved) inner.querySelector("input,[tabindex]")?.focus();
  }
  /** Whether what is kept is a guess of this kind: a page may have changed since. */
  const fits = (v) => v === null || (data.kind === "choice" ? data.among.includes(v) : Array.isArray(v) && v.every(Number.isFinite) && v.length === { number: data.marks?.length, curve: 25, picture: 2 }[data.kind]);
  begin(false);
};
