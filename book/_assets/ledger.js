// The ledger's filters. Their state lives in the address (#source=S3&verdict=corrected&q=cauchy), so a view can be linked;
// without one the page shows what is interesting, #view=all shows all, and #S3-thm-cauchy shows that claim alone.
(function () {
  "use strict";
  var form = document.getElementById("ledger-controls");
  var list = document.getElementById("ledger");
  if (!form || !list) return;
  var PAGE = 20, room = PAGE, alone = null;
  var status = document.getElementById("ledger-count"), more = document.getElementById("ledger-more");
  var claims = Array.prototype.slice.call(list.querySelectorAll("li.claim"));
  var groups = Array.prototype.slice.call(list.querySelectorAll(".claim-group"));
  var texts = claims.map(function (claim) { return claim.textContent.toLowerCase(); });
  var menus = Array.prototype.slice.call(form.querySelectorAll("select"));
  var box = form.elements.q, view = form.elements.view;

  // "cite" beside each claim shows its entry in BibTeX, selected, so that it can be copied. On a disk there is no address to give.
  var entry = document.getElementById("ledger-entry").content.textContent;
  function cited(claim) {
    var here = location.protocol === "file:" ? list.dataset.repository : location.origin + location.pathname + "#" + claim.id;
    var words = { id: claim.id, title: claim.querySelector(".claim-title").textContent, verdict: claim.dataset.verdict, url: here };
    return entry.replace(/__(\w+?)__/g, function (all, name) { return words[name]; });
  }
  claims.forEach(function (claim) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "cite";
    button.textContent = "cite";
    button.setAttribute("aria-label", "cite " + claim.id);
    button.setAttribute("aria-expanded", "false");
    claim.querySelector(".claim-where").append(" · ", button);
  });
  list.addEventListener("click", function (event) {
    var button = event.target.closest("button.cite"), claim = button && button.closest("li.claim");
    if (!button) return;
    var shown = claim.querySelector("pre.cite");
    if (shown) shown.remove();
    button.setAttribute("aria-expanded", String(!shown));
    if (shown) return;
    shown = document.createElement("pre");
    shown.className = "cite";
    shown.textContent = cited(claim);
    claim.append(shown);
    getSelection().selectAllChildren(shown);
  });

  function fits(claim, i, words, everything) {
    if (alone) return claim === alone;
    if (!everything && !claim.closest("[data-interesting]")) return false;
    return menus.every(function (m) { return !m.value || claim.dataset[m.name] === m.value; }) &&
      words.every(function (w) { return texts[i].indexOf(w) >= 0; });
  }

  function apply() {
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    var everything = view.value || words.length || menus.some(function (m) { return m.value; });
    var found = claims.filter(function (claim, i) { return fits(claim, i, words, everything); });
    var shown = new Set(found.slice(0, room));
    claims.forEach(function (claim) { claim.hidden = !shown.has(claim); });
    groups.forEach(function (group) { group.hidden = !group.querySelector("li.claim:not([hidden])"); });
    status.textContent = found.length + " of " + claims.length + (claims.length === 1 ? " claim" : " claims");
    more.hidden = found.length <= room;
    more.textContent = "Show " + Math.min(PAGE, found.length - room) + " more";
    return found;
  }

  function save() {
    var state = new URLSearchParams();
    menus.concat([box, view]).forEach(function (e) { if (e.value) state.set(e.name, e.value); });
    var hash = state.toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  }

  function changed() { room = PAGE; alone = null; apply(); save(); }

  function load() {
    var hash = decodeURIComponent(location.hash.slice(1));
    var target = hash && hash.indexOf("=") < 0 ? document.getElementById(hash) : null;
    alone = target && list.contains(target) ? target : null;
    var state = new URLSearchParams(hash.indexOf("=") < 0 ? "" : location.hash.slice(1));
    menus.concat([box, view]).forEach(function (e) {
      e.value = state.get(e.name) || "";
      if (e.selectedIndex < 0) e.value = "";
    });
    room = PAGE;
    apply();
    if (alone && alone.querySelector("details")) alone.querySelector("details").open = true;
    if (alone) alone.scrollIntoView();
  }

  // Formulas are typeset when they come near the screen, and inside a fold when it is opened.
  function typeset(part) {
    var waiting = Array.prototype.filter.call(part.querySelectorAll("span.tex"), function (e) { return e.checkVisibility(); });
    if (!waiting.length || !window.MathJax || !MathJax.startup || !MathJax.startup.promise) return;
    waiting.forEach(function (e) { e.classList.replace("tex", "mathjax_process"); });
    MathJax.startup.promise = MathJax.startup.promise.then(function () { return MathJax.typesetPromise(waiting); })
      .then(function () {
        waiting.forEach(function (e) { e.classList.replace("mathjax_process", "math"); });
        window.dispatchEvent(new Event("resize")); // site.js looks for what is too wide
      });
  }
  var near = new IntersectionObserver(function (seen) {
    seen.forEach(function (one) { if (one.isIntersecting) typeset(one.target); });
  }, { rootMargin: "600px" });
  list.addEventListener("toggle", function (event) { if (event.target.open) typeset(event.target); }, true);
  window.addEventListener("load", function () { claims.forEach(function (claim) { near.observe(claim); }); });

  form.addEventListener("input", changed);
  form.addEventListener("change", changed);
  form.addEventListener("reset", function () { setTimeout(function () { view.value = ""; changed(); }, 0); });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  document.getElementById("ledger-all").addEventListener("click", function () {
    form.reset();
    setTimeout(function () { view.value = "all"; changed(); }, 0);
  });
  more.addEventListener("click", function () {
    var first = apply()[room];
    room += PAGE;
    apply();
    first.tabIndex = -1;
    first.focus({ preventScroll: true });
  });
  window.addEventListener("hashchange", load);
  load();
})();
