/** The state of a figure in the address: `#live-breakpoints=...`, JSON in the letters of base64url; of the third on a page `#live-breakpoints.3=...`. */
const KEY = (name, number) => `live-${name}${number > 1 ? `.${number}` : ""}=`;

/** Which of the figures of this name on the page an element is, from 1. @param {Element} el @param {string} name */
export const numberOf = (el, name) => Math.max(0, [...document.querySelectorAll(`[data-live="${name}"]`)].indexOf(el)) + 1;

/** @param {Record<string, any>} state */
export function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  let letters = ""; // one by one: a call takes no hundred thousand arguments
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {string} words @returns {Record<string, any>} */
export function decode(words) {
  const bytes = atob(words.replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
}

/** What the address says about a figure: those keys that it knows, where the kind of value fits. */
export function fromAddress(name, defaults, number = 1) {
  const words = location.hash.slice(1).split("&").find((part) => part.startsWith(KEY(name, number)));
  if (!words) return null;
  try {
    const found = decode(words.slice(KEY(name, number).length));
    const fits = ([key, value]) => key in defaults && (defaults[key] === null || value === null || kind(value) === kind(defaults[key]));
    return Object.fromEntries(Object.entries(found).filter(fits));
  } catch {
    return null;
  }
}

/** The address of this page with the state; null where the page has none that others could open. */
export function link(name, state, number = 1) {
  return /^(https?|file):/.test(location.href) ? `${location.href.split("#")[0]}#${KEY(name, number)}${encode(state)}` : null;
}

const kind = (value) => (Array.isArray(value) ? "array" : typeof value);
