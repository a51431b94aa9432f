/** Questions that are answered in the page. */
import { html } from "../ui/dom.js";
import { LOOK, radios } from "./choice.js";
import { formula } from "./formula.js";
import { button, mount, rich, shell } from "./shell.js";

/** A question with an answer to type or to choose; it names the mistake that it recognises and never tells the answer. */
function ask(host, data) {
  const { inner, say } = shell(host, "Question", data.question, LOOK);
  const verdict = html("p", { class: "verdict" }), field = html("input", { type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-label": data.kind === "formula" ? `your formula in ${data.of}` : "your answer", size: data.kind === "formula" ? 22 : 10 });
  const chosen = data.kind === "choice" ? radios(data.among, () => {}, "your answer") : null;
  const told = () => {
    if (data.kind === "state") return looked(data);
    const given = chosen ? chosen.value() : field.value;
    if (!given?.trim()) return ["There is no answer yet.", ""];
    if (chosen) return given === data.answer ? ["✓ Right.", ""] : ["✗ Not this one.", data.mistakes[given] ?? ""];
    return judged(given, data);
  };
  const act = () => {
    const [short, long] = told();
    verdict.replaceChildren(html("b", short[0] === "✓" ? { class: "good" } : {}, short), " ", ...rich(long));
    say(`${short} ${long}`.replace(/[✓✗] |[*`]/g, ""));
  };
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") act();
  });
  const parts = chosen ? [chosen.element, html("div", { class: "row" }, button("Check", act, "main"))] : data.kind === "state" ? [html("div", { class: "row" }, button("Check the figure", act, "main"))] : [html("div", { class: "row" }, ...(data.kind === "formula" ? [`f(${data.of}) =`] : []), field, button("Check", act, "main"))];
  inner.replaceChildren(...parts, html("div", { style: "min-height:1.6em;margin-top:.5rem" }, verdict), ...(data.solution ? [html("details", {}, html("summary", {}, "Solution"), html("p", {}, ...rich(data.solution)))] : []));
}

/** What is said to the state of a live figure: of those on the page one has to be right. */
function looked({ figure, key, answers, tol }) {
  const all = [...document.querySelectorAll(`[data-live="${figure}"]`)].map((/** @type {any} */ host) => host.foldnetState?.[key]).filter((v) => v !== undefined);
  const near = (a, b) => (Array.isArray(a) ? a.length === b?.length && a.every((v, i) => near(v, b[i])) : typeof a === "number" ? Math.abs(a - b) <= tol : a === b);
  if (!all.length) return ["The figure is out of reach here.", "It is on the page of the book."];
  return all.some((v) => answers.some((right) => near(right, v))) ? ["✓ Right.", ""] : ["✗ Not yet.", ""];
}

/** What is said to a number or a formula: right, a mistake that is known, almost, or not yet. */
function judged(given, { answer, of = "", tol, mistakes, between }) {
  let mine;
  try {
    mine = formula(given, of);
  } catch (error) {
    return ["This cannot be read:", `${error.message}.`];
  }
  const places = of ? Array.from({ length: 23 }, (_, i) => between[0] + ((between[1] - between[0]) * (i + 0.37)) / 23) : [0];
  const same = (f, within) => {
    const all = places.map((x) => [mine(x), f(x)]).filter(([, b]) => Number.isFinite(b));
    return all.length > 0 && all.every(([a, b]) => Math.abs(a - b) <= within(b));
  };
  const truth = formula(answer, of), exactly = (b) => tol * Math.max(1, Math.abs(b)) * (1 + 1e-9);
  if (same(truth, exactly)) return ["✓ Right.", ""];
  for (const [wrong, why] of Object.entries(mistakes)) if (same(formula(wrong, of), exactly)) return ["✗ Not yet:", why];
  return same(truth, (b) => 0.05 * Math.abs(b)) ? ["Almost:", "within five per cent."] : ["✗ Not yet.", ""];
}

mount("ask", ask);
