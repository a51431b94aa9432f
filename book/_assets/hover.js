// What a link leads to, shown beside it while the pointer rests on it or it has the focus: boxes, verdicts, terms, sources.
// The texts are in hover-data.js, which is loaded when the first is asked for. Escape hides it; the pointer may go into it.
(function () {
  "use strict";
  var root = new URL(document.documentElement.dataset.content_root || "./", location.href).href;
  var KNOWN = /#(?:claim-|cell-\d+$|S\d-|s\d$|term-|(?:theorem|lemma|proposition|corollary|conjecture|definition|example|exercise|remark|algorithm|correction)-)/;
  var card = null, shownFor = null, timer = null, data = null;

  function load() {
    if (data) return data;
    data = new Promise(function (done) {
      var script = document.createElement("script");
      script.src = root + "_static/hover-data.js";
      script.onload = function () { done(window.hoverData); };
      script.onerror = function () { done({ texts: {}, claims: {}, cells: {} }); };
      document.head.append(script);
    });
    return data;
  }

  function textOf(link, all) {
    var address = new URL(link.href), page = (address.origin + address.pathname).replace(/^null/, "file://");
    if (page.indexOf(root) !== 0) return null;
    var hash = decodeURIComponent(address.hash.slice(1));
    var key = page.slice(root.length).replace(/\.html$/, "") + "#" + hash;
    var claim = hash.indexOf("claim-") === 0 ? hash.slice(6) : /^S\d-/.test(hash) ? hash : all.cells[key];
    return all.texts[key] || all.claims[claim] || null;
  }

  function hide() {
    clearTimeout(timer);
    if (!card) return;
    card.remove();
    shownFor.removeAttribute("aria-describedby");
    card = shownFor = null;
  }

  function place() {
    var at = shownFor.getClientRects()[0] || shownFor.getBoundingClientRect(), wide = document.documentElement.clientWidth;
    var size = card.getBoundingClientRect();
    var left = Math.max(8, Math.min(at.left, wide - size.width - 8));
    var above = at.bottom + size.height + 12 > innerHeight && at.top > size.height + 12;
    card.style.left = left + scrollX + "px";
    card.style.top = (above ? at.top - size.height - 6 : at.bottom + 6) + scrollY + "px";
  }

  // A page without a formula has no MathJax: it comes with the first card that needs it.
  function typeset(part) {
    if (!part.querySelector(".math")) return Promise.resolve();
    if (!window.MathJax) {
      window.MathJax = { loader: { load: ["input/tex", "output/chtml", "a11y/assistive-mml"] }, startup: { typeset: false } };
      var script = document.createElement("script");
      script.src = root + "_static/vendor/mathjax/startup.js";
      window.mathReady = new Promise(function (done) { script.onload = done; });
      document.head.append(script);
    }
    return (window.mathReady || Promise.resolve())
      .then(function () { return MathJax.startup.promise; })
      .then(function () { return MathJax.typesetPromise([part]); });
  }

  function show(link) {
    load().then(function (all) {
      var text = textOf(link, all);
      if (!text || (link !== document.activeElement && !link.matches(":hover")) || link === shownFor) return;
      hide();
      card = document.createElement("div");
      card.className = "hover-card bd-article";
      card.id = "hover-card";
      card.setAttribute("role", "tooltip");
      card.innerHTML = text;
      document.body.append(card);
      shownFor = link;
      link.setAttribute("aria-describedby", "hover-card");
      link.removeAttribute("title");
      place();
      var mine = card;
      typeset(card).then(function () { if (card === mine) place(); });
      card.addEventListener("mouseenter", function () { clearTimeout(timer); });
      card.addEventListener("mouseleave", later);
    });
  }

  function later() { clearTimeout(timer); timer = setTimeout(hide, 200); }
  function linkOf(event) {
    var link = event.target.closest && event.target.closest("article a[href*='#']");
    return link && KNOWN.test(link.hash) && !link.closest(".headerlink, .wrong") ? link : null;
  }

  document.addEventListener("mouseover", function (event) {
    var link = linkOf(event);
    if (!link) return;
    clearTimeout(timer);
    if (link !== shownFor) timer = setTimeout(function () { show(link); }, 150);
  });
  document.addEventListener("mouseout", function (event) { if (linkOf(event)) later(); });
  document.addEventListener("focusin", function (event) { var link = linkOf(event); if (link && link.matches(":focus-visible")) show(link); });
  document.addEventListener("focusout", function (event) { if (linkOf(event)) hide(); });
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") hide(); });
})();
