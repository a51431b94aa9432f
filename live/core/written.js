/** A network as text, in the schema of `foldnet.piecewise.text`. */
import { network } from "./net.js";

/** A network from the text that `to_json` of foldnet writes; an error says what is wrong with it. @param {string} text @returns {import("./net.js").Net} */
export function parse(text) {
  let given;
  try {
    given = JSON.parse(text);
  } catch {
    throw new Error("This is no JSON: paste what net.to_json() gives.");
  }
  const { foldnet: version, leak, weights, biases } = given ?? {};
  /** @param {unknown} v @param {number} [long] */
  const row = (v, long) => Array.isArray(v) && v.length > 0 && (long === undefined || v.length === long) && v.every(Number.isFinite);
  const layers = Array.isArray(weights) && Array.isArray(biases) && weights.length > 0 && weights.length === biases.length && biases.every((b) => row(b));
  const fits = layers && weights.every((w, l) => Array.isArray(w) && w.length === biases[l].length && w.every((r) => row(r, l ? biases[l - 1].length : w[0]?.length)));
  if (version !== 1 || !Number.isFinite(leak) || !fits) throw new Error("A network has the keys foldnet (1), leak, weights and biases, as net.to_json() writes them.");
  return network(weights, biases, leak);
}
