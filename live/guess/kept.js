/** What a reader guessed stays in the browser. */
export const KEY = "foldnet guess ";
const memory = {};

/** What the browser keeps; where it keeps nothing (a sandbox), what this page remembers. */
function kept() {
  try {
    localStorage.getItem(KEY);
    return localStorage;
  } catch {
    return null;
  }
}
export const read = (key) => {
  try {
    return JSON.parse(memory[key] ?? kept()?.getItem(key) ?? "null");
  } catch {
    return null;
  }
};
export const write = (key, value) => {
  delete memory[key];
  try {
    if (value === null) kept()?.removeItem(key);
    else kept().setItem(key, JSON.stringify(value));
  } catch {
    memory[key] = JSON.stringify(value);
  }
};
export const page = () => decodeURIComponent(location.pathname);

/** The keys of all guesses. */
export const keys = () => [...new Set([...Object.keys(kept() ?? {}), ...Object.keys(memory)])].filter((key) => key.startsWith(KEY));
