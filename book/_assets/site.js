// From a disk the search shows titles alone: a browser does not let a page read its neighbours there.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// A formula, a table or a piece of code that is wider than the page scrolls by itself, and then the keyboard must reach it.
(function () {
  // Where an element or a text ends, on the right.
  function end(node) {
    var range = document.createRange();
    if (node.nodeType === Node.TEXT_NODE) range.selectNode(node);
    return (node.nodeType === Node.TEXT_NODE ? range : node).getBoundingClientRect().right;
  }
  function measure() {
    document.querySelectorAll("article mjx-container").forEach(function (formula) {
      var whole = formula.getAttribute("display") !== "true" && formula.closest("span.math"); // no wider than its line
      formula.classList.remove("wide");
      if (whole && end(whole.lastChild) > end(whole) + 1) formula.classList.add("wide");
    });
    document.querySelectorAll("article :is(mjx-container, pre, .output, .table-box, table, div.math)").forEach(function (box) {
      var scrolls = box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible";
      if (scrolls) box.setAttribute("tabindex", "0");
      else if (box.getAttribute("tabindex") === "0") box.removeAttribute("tabindex");
    });
  }
  // A comma behind a formula, or the "-th" of "i-th", stays with it: a browser may break the line between the two.
  function together() {
    document.querySelectorAll("article span.math").forEach(function (formula) {
      var next = formula.nextSibling, mark = next && next.nodeType === Node.TEXT_NODE && /^(?:[-’][a-z]+)?[.,;:!?)\]’”]*/.exec(next.data);
      if (!mark || !mark[0]) return;
      formula.append(mark[0]);
      next.data = next.data.slice(mark[0].length);
    });
  }
  function later() { clearTimeout(later.timer); later.timer = setTimeout(measure, 40); }
  function typeset() { return (window.MathJax && MathJax.startup && MathJax.startup.promise) || Promise.resolve(); }
  addEventListener("load", function () { typeset().then(together).then(measure); });
  addEventListener("toggle", later, true);
  addEventListener("DOMContentLoaded", function () {  // also when the contents slide in or out beside it
    new ResizeObserver(later).observe(document.querySelector("article") || document.body);
  });
})();

// The code of a story is shown when the reader asks for it: one switch in the page's header, remembered for all stories.
(function () {
  var KEY = "foldnet-code";
  function kept(value) { try { return value === undefined ? localStorage.getItem(KEY) : localStorage.setItem(KEY, value); } catch (error) { return null; } }
  addEventListener("DOMContentLoaded", function () {
    var folds = document.querySelectorAll("details.story-fold"), place = document.querySelector(".article-header-buttons");
    if (!folds.length || !place) return;
    var button = document.createElement("button"), narrow = matchMedia("(max-width: 48rem)");
    button.type = "button";
    button.className = "btn btn-sm code-switch";
    function show(on) {
      document.documentElement.classList.toggle("show-code", on);
      folds.forEach(function (fold) { fold.open = on; });
      button.setAttribute("aria-pressed", String(on));
      button.setAttribute("aria-label", on ? "Hide the code" : "Show the code");
      button.textContent = narrow.matches ? "Code" : button.getAttribute("aria-label");
    }
    button.addEventListener("click", function () {
      var on = button.getAttribute("aria-pressed") !== "true";
      kept(on ? "shown" : "hidden");
      show(on);
    });
    show(kept() === "shown");
    place.prepend(button);
  });
})();

// On a phone the panels of a wide figure stand one below the other: the same picture again for each, moved and cropped. Labels on the
// left that all panels share stand beside each.
(function () {
  function split(img) {
    var cuts = [0].concat(img.dataset.cuts.split(" ").map(Number), 1), box = document.createElement("div"), wide = parseFloat(img.style.width);
    if (img.parentNode.querySelector(":scope > .panels") || !img.naturalWidth) return;
    box.className = "panels";
    cuts.slice(1).forEach(function (right, k) {
      var parts = [[cuts[k], right]], gutter = k && Number(img.dataset.gutter || 0), panel = document.createElement("div");
      if (gutter) parts.unshift([0, gutter]);
      var share = parts.reduce(function (sum, part) { return sum + part[1] - part[0]; }, 0);
      panel.style.cssText = "aspect-ratio:" + (share * img.naturalWidth) / img.naturalHeight + ";width:" + share * wide + "px";
      parts.forEach(function (part, i) {
        var strip = document.createElement("span"), copy = img.cloneNode(), own = part[1] - part[0];
        strip.style.width = (100 * own) / share + "%";
        copy.style.cssText = "width:" + 100 / own + "%;max-width:none;left:" + (-100 * part[0]) / own + "%";
        copy.removeAttribute("data-cuts");
        if (k || i) copy.alt = "";
        strip.append(copy);
        panel.append(strip);
      });
      box.append(panel);
    });
    img.after(box);
  }
  function all(within) {
    within.querySelectorAll("img[data-cuts]").forEach(function (img) { img.decode().then(function () { split(img); }, function () {}); });
  }
  addEventListener("DOMContentLoaded", function () {
    var narrow = matchMedia("(max-width: 37.5rem)"), article = document.querySelector("article");
    if (!article) return;
    function begin() { if (narrow.matches) all(article); }
    begin();
    narrow.addEventListener("change", begin);
    article.querySelectorAll(".explore-frame").forEach(function (frame) { new MutationObserver(begin).observe(frame, { childList: true }); });
  });
})();

// A figure of stored frames can fill the screen, as a live figure does: the browser's, or else the window.
addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll("article .explore").forEach(function (figure) {
    var foot = document.createElement("div"), button = document.createElement("button");
    function show(full) {
      figure.classList.toggle("full", full);
      button.textContent = full ? "Leave full screen" : "Full screen";
    }
    foot.className = "explore-whole";
    button.type = "button";
    function turn(full) {
      if (full && figure.requestFullscreen) figure.requestFullscreen().catch(function () {});
      if (!full && document.fullscreenElement) document.exitFullscreen();
      show(full);
    }
    button.addEventListener("click", function () { turn(!figure.classList.contains("full")); });
    figure.addEventListener("fullscreenchange", function () { if (!document.fullscreenElement) show(false); });
    figure.addEventListener("keydown", function (event) { if (event.key === "Escape") turn(false); });
    show(false);
    foot.append(button);
    figure.append(foot);
  });
});

// What stands right behind a guess may tell its answer: the rest of the section waits until the guess is made or passed over. Who
// searches the page or comes by a link finds all of it, and paper has it. The opening goes on at once: what is told there comes later.
addEventListener("DOMContentLoaded", function () {
  function wait(guess) {
    var cell = guess.closest(".cell"), veil = document.createElement("div"), line = document.createElement("p");
    if (!cell || !cell.nextElementSibling || cell.parentNode.querySelector(":scope > h1")) return;
    veil.className = "veiled";
    veil.setAttribute("hidden", "until-found");
    while (cell.nextSibling) veil.append(cell.nextSibling);
    line.className = "veil-line";
    line.textContent = "The rest of this section tells the answer. It appears when you have guessed, or pressed Show me.";
    cell.after(line, veil);
    function lift() {
      line.remove();
      veil.replaceWith.apply(veil, Array.from(veil.childNodes));
      dispatchEvent(new Event("resize"));  // for what measures its room
    }
    function asked() {
      var target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target || !veil.contains(target)) return;
      lift();
      target.scrollIntoView();
    }
    guess.addEventListener("told", lift, { once: true });
    veil.addEventListener("beforematch", lift, { once: true });
    addEventListener("hashchange", asked);
    asked();
  }
  document.querySelectorAll("article [data-guess][data-ready]:not([data-guess=ask], [data-guess=tally], [data-told])").forEach(wait);
});
