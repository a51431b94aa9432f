/** The look of guesses and questions: the palette of the figures, in few rules. */
import { DARK, LIGHT } from "../ui/palette.js";

export const CSS = `:host{display:block;margin:1rem 0}
.g{${LIGHT}background:var(--paper);color:var(--ink);font:15px/1.45 system-ui,sans-serif;border:1px solid var(--line);border-left:4px solid var(--blue);
border-radius:.3rem;padding:.7rem .9rem;max-width:46rem;box-sizing:border-box;text-align:left}
.g.dark{${DARK}color-scheme:dark}
.g *{box-sizing:border-box}
p{margin:0 0 .4rem}
.q{font-weight:600}
.q i{font-style:normal;color:var(--blue);margin-right:.35em}
.soft,small{color:var(--soft);font-size:.9em}
.row{display:flex;flex-wrap:wrap;gap:.4rem .6rem;align-items:center;margin:.5rem 0 0}
button,input[type=text],input[type=number]{font:inherit;color:var(--ink);background:var(--paper);border:1px solid var(--soft);border-radius:.3rem;padding:.3rem .7rem;min-height:2.75rem;max-width:100%}
button{cursor:pointer;touch-action:manipulation}
.main{background:var(--blue);border-color:var(--blue);color:var(--on-blue)}
.main:disabled{background:none;color:var(--soft);border-color:var(--line);cursor:default}
.quiet{border-color:transparent;color:var(--blue);background:none;padding:.3rem .4rem}
.told{border-top:1px solid var(--line);margin-top:.6rem;padding-top:.5rem}
.me{color:var(--blue)}
.it{color:var(--orange)}
.told b{font-weight:600}
.good{color:var(--green)}
summary{cursor:pointer;min-height:2rem;color:var(--blue)}
.said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap;margin:0}
:focus{outline:none}
:focus-visible{outline:2px solid var(--orange);outline-offset:2px}
slot{display:none}
@media print{.row,.bar,.ends,fieldset label input,.said,summary{display:none!important}.g{border-left-width:1px;break-inside:avoid}}
@media (max-width:480px){.g{padding:.6rem .6rem}}`;
