/** Numbers and formulas of one variable, as people type them: 8/3, 2x^2 - 1, sqrt(2)/pi. Read by hand, nothing is run. */
const NUMBERS = { pi: Math.PI, π: Math.PI, e: Math.E };
const CALLS = { sqrt: Math.sqrt, exp: Math.exp, log: Math.log, ln: Math.log, sin: Math.sin, cos: Math.cos, tan: Math.tan, atan: Math.atan, arctan: Math.atan, abs: Math.abs, max: Math.max, min: Math.min, relu: (v) => Math.max(0, v) };

/**
 * The function of `variable` that the words say; an error whose message is for the reader where they say none.
 * @param {string} words @param {string} [variable] @returns {(x: number) => number}
 */
export function formula(words, variable = "") {
  let rest = words.trim().replaceAll("−", "-").replace(/[·×]/g, "*").replaceAll("÷", "/").replaceAll("²", "^2").replaceAll("³", "^3").replace(/%$/, "");
  if (/^-?\d{1,3}(,\d{3})+(\.\d*)?$/.test(rest)) rest = rest.replaceAll(",", "");
  else if (/^-?\d+,\d+$/.test(rest)) rest = rest.replace(",", ".");
  const tokens = rest.match(/\d+\.?\d*(?:e[+-]?\d+)?|\.\d+|[\p{L}_]+\d*|\*\*|\S/gu) ?? [];
  let at = 0;
  const take = (...wanted) => (wanted.includes(tokens[at]) ? tokens[at++] : null);
  const need = (wanted) => take(wanted) ?? fail(tokens[at] ? `“${wanted}” was expected before “${tokens[at]}”` : `“${wanted}” is missing at the end`);
  function sum() {
    let left = product(), sign;
    while ((sign = take("+", "-"))) {
      const a = left, b = product(), s = sign === "+" ? 1 : -1;
      left = (x) => a(x) + s * b(x);
    }
    return left;
  }
  function product() {
    let left = signed(), sign;
    while ((sign = take("*", "/")) || /^[\p{L}\d(._]/u.test(tokens[at] ?? "")) {
      const a = left, b = signed(), over = sign === "/";
      left = (x) => (over ? a(x) / b(x) : a(x) * b(x));
    }
    return left;
  }
  function signed() {
    if (take("+")) return signed();
    if (!take("-")) return power();
    const a = signed();
    return (x) => -a(x);
  }
  function power() {
    const base = atom();
    if (!take("^", "**")) return base;
    const exponent = signed();
    return (x) => base(x) ** exponent(x);
  }
  function atom() {
    const token = tokens[at++] ?? fail(at > 1 ? "it ends too early" : "there is nothing yet");
    if (/^[\d.]/.test(token)) {
      const value = Number(token);
      return Number.isNaN(value) ? fail(`“${token}” is no number`) : () => value;
    }
    if (token === "(") {
      const inside = sum();
      need(")");
      return inside;
    }
    if (token === variable) return (x) => x;
    if (Object.hasOwn(CALLS, token)) {
      need("(");
      const given = [sum()];
      while (take(",")) given.push(sum());
      need(")");
      return (x) => CALLS[token](...given.map((g) => g(x)));
    }
    if (Object.hasOwn(NUMBERS, token)) return () => NUMBERS[token];
    return fail(`“${token}” is not known here`);
  }
  const found = sum();
  return at < tokens.length ? fail(`“${tokens[at]}” is not expected there`) : found;
}

/** @returns {never} */
function fail(why) {
  throw new Error(why);
}
