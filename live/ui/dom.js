/** The two ways to make an element. */
const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element: attributes by name, event handlers as `onclick`, and children, texts among them.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node | string)} children @returns {any}
 */
export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. @returns {any} */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  put(element, attributes);
  element.append(...children);
  return element;
}

/** Set attributes; `false`, `null` and `undefined` take one away. @param {Element} element @param {Record<string, any>} attributes */
export function put(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === false || value === null || value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

/** A number as people write it: a few digits, a real minus. @param {number} x */
export function text(x, digits = 2) {
  if (!Number.isFinite(x)) return x > 0 ? "∞" : x < 0 ? "−∞" : "none";
  if (Math.abs(x) < 1e-13) x = 0; // what rounding leaves of a zero
  const rounded = Number(x.toFixed(digits));
  const shown = x !== 0 && (Math.abs(x) < 10 ** -digits || Math.abs(x) >= 1e6) ? x.toPrecision(2) : (rounded || 0).toFixed(digits);
  return shown.replaceAll("-", "−");
}

/** "1 bend", "2 bends". @param {number} n @param {string} one */
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;
