/** The state of a figure in the address: `#live-breakpoints=...`, JSON in the letters of base64url. */
const KEY = (name) => `live-${name}=`;

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
export function fromAddress(name, defaults) {
  const words = location.hash.slice(1).split("&").find((part) => part.startsWith(KEY(name)));
  if (!words) return null;
  try {
    const found = decode(words.slice(KEY(name).length));
    const fits = ([key, value]) => key in defaults && (defaults[key] === null || value === null || kind(value) === kind(defaults[key]));
    return Object.fromEntries(Object.entries(found).filter(fits));
  } catch {
    return null;
  }
}

/** The address of this page with the state; null where the page has none that others could open. */
export function link(name, state) {
  return /^(https?|file):/.test(location.href) ? `${location.href.split("#")[0]}#${KEY(name)}${encode(state)}` : null;
}

const kind = (value) => (Array.isArray(value) ? "array" : typeof value);
