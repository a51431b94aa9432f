/** The colours, light and dark: at least 3 to 1 on paper and tints, and no two lines alike for a deuteranope (test_palette.py). */
export const LIGHT = `--paper:#fffefb;--ink:#2a2925;--soft:#5f5b52;--line:#d9d3c3;--grid:#ece7da;--fill:#f6f3ea;--blue:#00608f;--orange:#b84f06;
--green:#00863f;--pink:#af568e;--gold:#6e4700;--tint-a:#dcebf5;--tint-b:#fbe7d3;--on-blue:#fffefb;`;
export const DARK = `--paper:#191a1c;--ink:#dedad0;--soft:#a7a297;--line:#55575d;--grid:#2b2d31;--fill:#232528;--blue:#7cc4ee;--orange:#dc9b5a;
--green:#78da91;--pink:#cf6aac;--gold:#fdca60;--tint-a:#14303f;--tint-b:#3f2a14;--on-blue:#15161a;`;

/** Keep the class `dark` of a figure in step with the page around it: the site's theme, JupyterLab's, Colab's. @param {HTMLElement} root @param {() => void} changed */
export function follow(root, changed) {
  const page = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const named = () => {
    const jupyter = document.body.dataset.jpThemeLight;
    if (jupyter) return jupyter === "false";
    const theme = page.dataset.theme || page.getAttribute("theme");
    return theme ? theme === "dark" : system.matches;
  };
  const update = () => {
    const dark = named();
    if (root.classList.contains("dark") !== dark) {
      root.classList.toggle("dark", dark);
      changed();
    }
  };
  const watcher = new MutationObserver(update);
  for (const element of [page, document.body]) {
    watcher.observe(element, { attributes: true, attributeFilter: ["data-theme", "theme", "data-jp-theme-light"] });
  }
  system.addEventListener("change", update);
  update();
  return () => {
    watcher.disconnect();
    system.removeEventListener("change", update);
  };
}

/** Whether the reader asked for less motion. */
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
