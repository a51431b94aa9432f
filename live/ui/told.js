/** What a figure keeps to itself until the reader has guessed. */

/**
 * Call `act` once the next guess on the page after an element is made or passed over; at once where it has been.
 * @param {Element} el @param {() => void} act @returns {() => void} wait no longer
 */
export function told(el, act) {
  const guess = () => [...document.querySelectorAll("[data-guess]")].find((one) => el.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
  const heard = () => {
    if (!(/** @type {HTMLElement | undefined} */ (guess())?.dataset.told)) return;
    forget();
    act();
  };
  const forget = () => document.removeEventListener("told", heard);
  document.addEventListener("told", heard);
  heard();
  return forget;
}
