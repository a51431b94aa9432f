/** One look for all figures, light and dark, and the theme of the page around them: the site's, JupyterLab's, Colab's. */
const LIGHT = `--paper:#fffefb;--ink:#2a2925;--soft:#5f5b52;--line:#d9d3c3;--grid:#ece7da;--fill:#f6f3ea;--blue:#00608f;--orange:#b14a00;
--green:#00664a;--pink:#9c4a78;--gold:#8a5a00;--tint-a:#dcebf5;--tint-b:#fbe7d3;--on-blue:#fffefb;`;
const DARK = `--paper:#191a1c;--ink:#dedad0;--soft:#a8a398;--line:#55575d;--grid:#2b2d31;--fill:#232528;--blue:#7cc4ee;--orange:#f0a860;
--green:#6fd0ac;--pink:#e0a3c4;--gold:#f0c060;--tint-a:#14303f;--tint-b:#3f2a14;--on-blue:#15161a;`;

export const CSS = `
:host{display:block;margin:.6rem 0}
.live{${LIGHT}position:relative;background:var(--paper);color:var(--ink);font:15px/1.45 system-ui,sans-serif;border:1px solid var(--line);
border-radius:.4rem;padding:.7rem .8rem .5rem;max-width:46rem;box-sizing:border-box;text-align:left}
.live.dark{${DARK}color-scheme:dark}
.live *{box-sizing:border-box}
.title{font-weight:600;margin:0 0 .1rem}
.about,.hints{color:var(--soft);font-size:.87em;margin:.1rem 0 .5rem}
.hints{margin:.5rem 0 .3rem}
kbd{font:inherit;font-size:.95em;border:1px solid var(--line);border-bottom-width:2px;border-radius:.25rem;padding:0 .3em;background:var(--fill);color:var(--ink)}
.picture>svg{display:block;width:100%;overflow:visible;user-select:none;-webkit-user-select:none}
svg text{fill:var(--ink);font-size:13px;stroke:none}
svg .soft{fill:var(--soft)}
.row{display:flex;flex-wrap:wrap;gap:.45rem .55rem;align-items:center;margin:.5rem 0 0}
.row label{display:inline-flex;flex-wrap:wrap;gap:.15rem .45rem;align-items:center;margin:0;font-size:.93em;max-width:100%}
button,select,input[type=number],textarea{font:inherit;font-size:.93em;color:var(--ink);background:var(--paper);border:1px solid var(--soft);border-radius:.3rem;
padding:.3rem .65rem;min-height:2.2rem;max-width:100%}
select,input[type=number]{padding:.3rem .4rem}
input[type=number]{width:6.2em}
textarea{width:100%;min-height:4.5rem;font-family:ui-monospace,monospace;font-size:.85em}
button{cursor:pointer;touch-action:manipulation}
@media (hover:hover){button:hover{background:var(--fill)}}
button.main{background:var(--blue);border-color:var(--blue);color:var(--on-blue)}
button[aria-pressed=true]{background:var(--fill);box-shadow:inset 0 0 0 1px var(--blue);border-color:var(--blue)}
button:disabled{opacity:.55;cursor:default}
input[type=range]{width:9.5rem;max-width:60vw;accent-color:var(--blue);margin:.4rem 0;height:1.4rem}
input[type=checkbox]{width:1.1rem;height:1.1rem;accent-color:var(--blue);margin:0}
output{min-width:2.6em;font-variant-numeric:tabular-nums}
.quiet{border-color:transparent;color:var(--blue);padding:.3rem .4rem}
.foot{border-top:1px solid var(--line);margin-top:.5rem;padding-top:.25rem;gap:.1rem .4rem}
.readout{margin:.45rem 0 0;min-height:1.45em;font-variant-numeric:tabular-nums}
.readout b{font-weight:600}
.said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap;margin:0}
.drawer{overflow-x:auto;margin:.3rem 0 .4rem}
.drawer table{border-collapse:collapse;font-size:.9em;font-variant-numeric:tabular-nums}
.drawer caption{text-align:left;color:var(--soft);padding-bottom:.2rem}
.drawer th,.drawer td{text-align:right;padding:.15rem .7rem .15rem 0;border-bottom:1px solid var(--grid)}
.drawer th{font-weight:600}
:focus{outline:none}
:focus-visible{outline:2px solid var(--orange);outline-offset:2px}
.handle,.handle *{touch-action:none}
.handle{cursor:grab}
.handle:focus-visible,.pick:focus-visible{outline:none}
.handle .halo,.pick .halo{fill:transparent;stroke:none}
.handle:focus-visible .halo,.pick:focus-visible .halo{stroke:var(--ink);stroke-width:2;stroke-dasharray:3 2}
.handle.held{cursor:grabbing}
.pick{cursor:pointer}
.live.full{position:fixed;inset:0;z-index:9999;max-width:none;overflow:auto;border-radius:0;margin:0}
.live:fullscreen{max-width:none;overflow:auto;border-radius:0}
slot{display:none}
@media print{.live{display:none}slot{display:block}}
@media (max-width:480px){.live{padding:.55rem .5rem .4rem}.foot{gap:.1rem 0}.foot .quiet{padding:.3rem}}
`;

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
