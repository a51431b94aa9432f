// The order of search results: stories first, then definitions, then evidence, course and reference. Sphinx scores a page by
// whether a word stands on it; here stories are told apart by how often, and where, they say what was asked for. Their words
// come from search-words.js, made when the site is built. A name of code that is asked for exactly comes before all of them.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,

  rank: function (docname) {
    if (window.storyWords && docname in window.storyWords) return 5000;
    if (docname === "book/glossary") return 4000;
    if (/^book\/(found|own|playground|notation|references)$|^book\/\w+\/index$/.test(docname)) return 3000;
    if (/-checks$|^book\/(evidence|ledger|errata|health)$/.test(docname)) return 2000;
    return 1000;
  },

  // How much a text speaks of what was asked for: the phrase as it stands, in headings above all, then its words.
  told: function (docname, query) {
    var text = (window.storyWords || {})[docname];
    if (!text) return 0;
    var words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
    if (!words.length) return 0;
    var stems = words.map(function (w) { return "(?<![\\p{L}\\p{N}])" + w.replace(/(?:ies|es|s|y)$/, "") + "[\\p{L}\\p{N}]*"; });
    function hits(pattern, where) { return (where.match(new RegExp(pattern, "gu")) || []).length; }
    var phrase = stems.join("[^\\p{L}\\p{N}]+");
    var about = 25 * hits(phrase, text[3]); // what its claims are called
    var found = about + 120 * hits(phrase, text[0]) + 30 * hits(phrase, text[1]) + 4 * Math.min(hits(phrase, text[2]), 30);
    return found + Math.min.apply(null, stems.map(function (s) { return Math.min(hits(s, text.join(" ")), 20); }).concat(20));
  },

  // Stories that speak of what was asked for in other words: their claims, or terms, are called so.
  more: function (found, query) {
    var index = Search._index, there = new Set(found.map(function (result) { return result[0]; }));
    Object.keys(window.storyWords || {}).forEach(function (name) {
      var file = index.docnames.indexOf(name);
      if (there.has(name) || file < 0 || Scorer.told(name, query) < 25) return;
      var result = [name, index.titles[file], "", null, 0, index.filenames[file]];
      result[4] = Scorer.score(result);
      found.push(result);
    });
    return found.sort(function (a, b) { return a[4] - b[4]; }); // the best last, as Sphinx has it
  },

  score: function (result) {
    var query = (new URLSearchParams(location.search).get("q") || "").trim();
    var exact = result[3] && /[A-Z_.]/.test(query.slice(1)) && result[1].split(".").pop() === query;
    if (/^S\d-\S+$/.test(query) && result[0] === "book/ledger") exact = true; // the id of a claim
    return (exact ? 9000 : Scorer.rank(result[0])) + Scorer.told(result[0], query) + Math.min(result[4], 40);
  },
};
(function () {
  if (typeof Search === "undefined") return;
  var plain = Search._performSearch;
  Search._performSearch = function (query) { return Scorer.more(plain.apply(Search, arguments), query); };
})();
