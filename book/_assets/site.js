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
  addEventListener("resize", later);
  addEventListener("toggle", later, true);
})();
