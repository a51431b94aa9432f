// Slides of a page, one at a time: a button above each deck, arrow keys, Page Up and Page Down, Escape.
for (const deck of document.querySelectorAll(".deck")) {
  const slides = [...deck.querySelectorAll(".slide")];
  let at = 0;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "deck-show";
  button.textContent = `Show as slides: ${deck.dataset.title}`;
  deck.before(button);

  const turn = (step) => {
    slides[at].classList.remove("current");
    at = Math.min(slides.length - 1, Math.max(0, at + step));
    slides[at].classList.add("current");
    slides[at].dataset.number = `${at + 1} / ${slides.length}`;
    slides[at].scrollTop = 0;
    slides[at].focus();
  };
  const keys = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1, Home: -slides.length, End: slides.length }[event.key];
    if (step) {
      event.preventDefault();
      turn(step);
    } else if (event.key === "Escape") end();
  };
  const end = () => {
    document.body.classList.remove("presenting");
    deck.classList.remove("shown-now");
    document.removeEventListener("keydown", keys);
    const left = document.fullscreenElement ? document.exitFullscreen() : Promise.resolve();
    left.finally(() => button.focus());
  };
  button.addEventListener("click", () => {
    document.body.classList.add("presenting");
    deck.classList.add("shown-now");
    document.addEventListener("keydown", keys);
    deck.requestFullscreen?.().catch(() => {});
    turn(-slides.length);
  });
  for (const slide of slides) {
    slide.tabIndex = -1;
    slide.addEventListener("click", (event) => {
      if (deck.classList.contains("shown-now") && !event.target.closest("a")) turn(1);
    });
  }
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement && deck.classList.contains("shown-now")) end();
  });
}
