// The ledger's filters. Their state lives in the address (#source=S3&verdict=corrected&q=cauchy), so a view can be linked;
// an address like #S3-thm-cauchy leads to that claim's row.
(function () {
  "use strict";
  var form = document.getElementById("ledger-controls");
  var table = document.getElementById("ledger");
  if (!form || !table) return;
  var status = document.getElementById("ledger-count");
  var rows = Array.prototype.slice.call(table.tBodies[0].rows);
  var texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
  var menus = Array.prototype.slice.call(form.querySelectorAll("select"));
  var box = form.elements.q;

  function apply() {
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    rows.forEach(function (row, i) {
      var fits = menus.every(function (m) { return !m.value || row.dataset[m.name] === m.value; }) &&
        words.every(function (w) { return texts[i].indexOf(w) >= 0; });
      row.hidden = !fits;
      shown += fits;
    });
    status.textContent = shown + " of " + rows.length + (rows.length === 1 ? " claim" : " claims");
  }

  function save() {
    var state = new URLSearchParams();
    menus.concat([box]).forEach(function (e) { if (e.value) state.set(e.name, e.value); });
    var hash = state.toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  }

  function load() {
    var hash = decodeURIComponent(location.hash.slice(1));
    var target = hash && hash.indexOf("=") < 0 ? document.getElementById(hash) : null;
    var state = new URLSearchParams(target ? "" : location.hash.slice(1));
    menus.forEach(function (m) {
      m.value = state.get(m.name) || "";
      if (m.selectedIndex < 0) m.value = "";
    });
    box.value = state.get("q") || "";
    apply();
    if (target && table.contains(target)) {
      target.querySelector("details").open = true;
      target.scrollIntoView({ block: "center" });
    }
  }

  // TeX in a folded text is typeset when the text is opened: 340 statements at once would make the page slow.
  function typeset(root) {
    var waiting = Array.prototype.slice.call(root.querySelectorAll("span.tex"));
    if (!waiting.length || !window.MathJax || !MathJax.startup || !MathJax.startup.promise) return;
    waiting.forEach(function (e) { e.classList.remove("tex"); e.classList.add("math"); });
    MathJax.startup.promise = MathJax.startup.promise.then(function () { return MathJax.typesetPromise(waiting); });
  }
  table.addEventListener("toggle", function (event) { if (event.target.open) typeset(event.target); }, true);
  window.addEventListener("load", function () { table.querySelectorAll("details[open]").forEach(typeset); });

  form.addEventListener("input", function () { apply(); save(); });
  form.addEventListener("change", function () { apply(); save(); });
  form.addEventListener("reset", function () { setTimeout(function () { apply(); save(); }, 0); });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  window.addEventListener("hashchange", load);
  load();
})();
