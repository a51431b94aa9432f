/** One look for all figures. */
import { DARK, LIGHT } from "./palette.js";

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
.top>.row{margin:.3rem 0 .5rem}
.picture{transform-origin:0 0;margin-top:.35rem}
.picture>svg{display:block;width:100%;overflow:visible;user-select:none;-webkit-user-select:none}
svg text{fill:var(--ink);font-size:13px;stroke:none}
svg .soft{fill:var(--soft)}
svg .number{fill:var(--paper);font-size:10.5px;font-weight:700;text-anchor:middle;pointer-events:none}
.row{display:flex;flex-wrap:wrap;gap:.45rem .55rem;align-items:center;margin:.5rem 0 0}
.row label{display:inline-flex;gap:.45rem;align-items:center;margin:0;font-size:.93em;max-width:100%}
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
input[type=range]{flex:0 9 9.5rem;width:9.5rem;min-width:4rem;accent-color:var(--blue);margin:.4rem 0;height:1.4rem}
input[type=checkbox]{width:1.1rem;height:1.1rem;accent-color:var(--blue);margin:0}
output{min-width:2.6em;font-variant-numeric:tabular-nums}
details{margin-top:.3rem}
.quiet{border-color:transparent;color:var(--blue);padding:.3rem .4rem}
.foot{border-top:1px solid var(--line);margin-top:.5rem;padding-top:.25rem;gap:.1rem .4rem}
.readout{margin:.45rem 0 0;min-height:1.45em;font-variant-numeric:tabular-nums;white-space:pre-line}
.readout b{font-weight:600}
[hidden]{display:none!important}
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
.help{display:none;position:absolute;top:.2rem;right:.2rem;min-width:2.75rem;min-height:2.75rem;font-weight:600}
.small{padding:.5rem .6rem}
.small .title,.small .keys{display:none}
.small .about{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.full .about,.full .keys{display:none}
.live.full{position:fixed;inset:0;z-index:9999;max-width:none;overflow:auto;border-radius:0;margin:0}
.live:fullscreen{max-width:none;overflow:auto;border-radius:0}
slot{display:none}
@media print{.live{display:none}slot{display:block}}
@media (max-width:480px){.help{display:flex;align-items:flex-start;justify-content:center;background:none}.title{padding-right:2.5rem}.keys{display:none}.helped .keys{display:block}.live{padding:.55rem .5rem .4rem}.foot{gap:.1rem 0}.foot .quiet{padding:.3rem}}
`;
