/** The colours, light and dark, and the theme of the page around a figure: the site's, JupyterLab's, Colab's. */
export const LIGHT = `--paper:#fffefb;--ink:#2a2925;--soft:#5f5b52;--line:#d9d3c3;--grid:#ece7da;--fill:#f6f3ea;--blue:#00608f;--orange:#b14a00;
--green:#00664a;--pink:#9c4a78;--gold:#8a5a00;--tint-a:#dcebf5;--tint-b:#fbe7d3;--on-blue:#fffefb;`;
export const DARK = `--paper:#191a1c;--ink:#dedad0;--soft:#a8a398;--line:#55575d;--grid:#2b2d31;--fill:#232528;--blue:#7cc4ee;--orange:#f0a860;
--green:#6fd0ac;--pink:#e0a3c4;--gold:#f0c060;--tint-a:#14303f;--tint-b:#3f2a14;--on-blue:#15161a;`;

/** Keep the class `dark` of a figure in step with the page around it. @param {HTMLElement} root @param {() => void} changed */
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
