/** Points to take hold of: by pointer, by touch, and by the arrow keys. */
import { put, svg } from "./dom.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** What each handle's element can be asked. @type {WeakMap<Element, { take: (event: PointerEvent) => void, distance: (event: PointerEvent) => number }>} */
const HANDLES = new WeakMap();

/**
 * A handle: a group with a mark in it that is placed by `at(px, py)`.
 *
 * `label` names it, `move(dx, dy, far)` is called for an arrow key with steps of -1, 0, 1 (`far` with shift), `drag(px, py)` with
 * the pointer's place in pixels of the svg, `grab` and `release` around a drag and `release` after each key, `act` for Enter,
 * `remove` for Delete. The mark's shape tells handles apart where colour does not.
 *
 * @param {{ label: string, kind?: "dot" | "square" | "diamond", color?: string, size?: number, move?: Function, drag?: Function,
 *   grab?: Function, release?: Function, act?: Function, remove?: Function }} how
 */
export function handle({ label, kind = "dot", color = "orange", size = 7, move, drag, grab, release, act, remove }) {
  const paint = { fill: `var(--${color})`, stroke: "var(--paper)", "stroke-width": 1.5, "data-mark": kind };
  const mark = svg("path", { d: shape(kind, size), ...paint });
  const element = svg(
    "g",
    { class: "handle", tabindex: 0, role: "slider", "aria-label": label, "aria-roledescription": "movable point", "aria-valuenow": 0 },
    svg("circle", { class: "halo", r: 22 }),
    mark,
  );
  let held = false, moved = false, place = [0, 0], off = [0, 0];
  const where = (event) => {
    return within(element.ownerSVGElement, event);
  };
  const follow = (event) => {
    const [px, py] = where(event);
    moved = true;
    drag?.(px - off[0], py - off[1]);
  };
  const stop = (event) => {
    if (!held) return;
    if (moved && event.type === "pointerup") follow(event);
    held = false;
    element.classList.remove("held");
    release?.();
  };
  const take = (event) => {
    element.focus({ preventScroll: true });
    element.setPointerCapture(event.pointerId);
    element.classList.add("held");
    held = true;
    moved = false;
    const [px, py] = where(event);
    off = [px - place[0], py - place[1]]; // a handle taken at its edge does not jump
    grab?.();
  };
  /** How far it is from a pointer; one that is not shown is nowhere. */
  const distance = (event) => {
    const [px, py] = where(event);
    return element.getClientRects().length ? Math.hypot(px - place[0], py - place[1]) : Infinity;
  };
  HANDLES.set(element, { take, distance });
  put(element, {
    onpointerdown: (event) => {
      if (event.button) return;
      event.preventDefault();
      event.stopPropagation();
      // where handles are closer than a finger is wide their halos overlap: the nearest is meant, not the topmost
      const all = [...element.ownerSVGElement.querySelectorAll(".handle")].map((other) => HANDLES.get(other)), far = distance(event);
      const near = all.reduce((best, other) => (other.distance(event) < best.distance(event) - 0.5 ? other : best), { take, distance: () => far });
      near.take(event);
    },
    ontouchstart: (event) => event.preventDefault(), // else a page may scroll away under the finger
    onpointermove: (event) => held && follow(event),
    onpointerup: stop,
    onpointercancel: stop,
    onkeydown: (event) => {
      const arrow = ARROWS[event.key], far = event.shiftKey;
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (arrow && move) {
        move(...arrow, far);
        release?.();
      } else if ((event.key === "Enter" || event.key === " ") && act) act();
      else if ((event.key === "Delete" || event.key === "Backspace") && remove) remove();
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  });
  return {
    element,
    /** Put it at a place in pixels and say what stands there. @param {number} now a number for the place, and words for it */
    at(px, py, now, words) {
      place = [px, py];
      put(element, { transform: `translate(${px.toFixed(2)} ${py.toFixed(2)})`, "aria-valuenow": Number(now.toFixed(4)), "aria-valuetext": words });
    },
    /** Another name or another shape. @param {{ label?: string, kind?: string, color?: string, size?: number }} next */
    dress(next) {
      if (next.label) put(element, { "aria-label": next.label });
      if (next.color) put(mark, { fill: `var(--${next.color})` });
      if (next.kind) put(mark, { d: shape(next.kind, next.size ?? size), "data-mark": next.kind });
    },
    get held() {
      return held;
    },
  };
}

/** Where a pointer is in the units of a picture, which may be enlarged. @param {SVGSVGElement} picture @returns {[number, number]} */
export function within(picture, event) {
  const box = picture.getBoundingClientRect(), zoom = box.width / picture.viewBox.baseVal.width || 1;
  return [(event.clientX - box.left) / zoom, (event.clientY - box.top) / zoom];
}

/** The outline of a mark around the origin. */
export function shape(kind, r) {
  if (kind === "square") return `M${-r} ${-r}H${r}V${r}H${-r}Z`;
  if (kind === "diamond") return `M0 ${-r * 1.3}L${r * 1.3} 0L0 ${r * 1.3}L${-r * 1.3} 0Z`;
  if (kind === "left") return `M${r} ${-r}L${-r} 0L${r} ${r}Z`;
  if (kind === "right") return `M${-r} ${-r}L${r} 0L${-r} ${r}Z`;
  if (kind === "triangle") return `M0 ${-r * 1.2}L${r * 1.1} ${r * 0.8}L${-r * 1.1} ${r * 0.8}Z`;
  if (kind === "cross") return `M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`;
  return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
}
