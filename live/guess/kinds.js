/** What the kinds of a guess share: what they are, how a number is written, and what is close. */

/**
 * A kind takes what Python wrote and `changed`, to be called when the reader moves something, and gives `element`, `value()` (null until
 * there is a guess), `words(guess)`, `close(guess)` (near the truth or not), and `reveal(guess)`, which shows both and takes no more.
 * @typedef {{ element: Element, value: () => any, words: (guess: any) => string, close: (guess: any) => boolean, reveal: (guess: any) => void }} Kind
 */

export const limited = (v, low, high) => Math.max(low, Math.min(high, v));
export const plain = (v, digits = 3) => (Number.isInteger(v) ? v : Number(v.toPrecision(digits))).toLocaleString("en-US", { maximumSignificantDigits: 6 }).replace("-", "−");
export const NEAR = 0.1; // of the scale: what counts as close

/** The mark of the truth. */
export const TRUE = `.true{position:absolute;top:13px;width:18px;height:18px;margin-left:-9px;transform:rotate(45deg) scale(.85);background:var(--orange);border:2px solid var(--paper);pointer-events:none}`;
