/** How the guesses of a part went. */
import { html } from "../ui/dom.js";
import { KEY, keys, read } from "./kept.js";
import { rich, shell } from "./shell.js";

const LOOK = `ul{margin:.3rem 0;padding-left:1.2rem}
a{color:var(--blue)}`;

/** How the guesses of a part went, from what the browser kept. */
export function tally(host, { part }) {
  const { inner } = shell(host, "Your guesses", "", LOOK);
  const show = () => inner.replaceChildren(...counted(part));
  for (const event of ["storage", "pageshow"]) addEventListener(event, show); // made in another tab, or on the page one comes back from
  show();
}

function counted(part) {
  const all = keys().map((key) => ({ ...read(key), key })).filter((one) => typeof one.question === "string" && one.key.slice(KEY.length, -one.question.length).includes(`/${part}/`));
  const made = all.filter((one) => !one.skipped), close = made.filter((one) => one.close).length, skipped = all.length - made.length;
  const many = (n) => `${n} guess${n === 1 ? "" : "es"}`;
  const words = all.length ? `${many(made.length)} made in this part, ${close} of them close${skipped ? `; ${skipped} skipped` : ""}.` : "None made in this part so far. Its pages ask before they tell: what you guess stays in this browser, and is counted here.";
  const list = all.map((one) => html("li", {}, html("a", { href: encodeURI(one.key.slice(KEY.length, -one.question.length - 1)) }, ...rich(one.question)), one.skipped ? " skipped." : ` you said ${one.mine}, it is ${one.truth}${one.close ? " (close)" : ""}.`));
  return [html("p", {}, words), ...(all.length ? [html("details", {}, html("summary", {}, "Which ones"), html("ul", {}, ...list))] : [])];
}
