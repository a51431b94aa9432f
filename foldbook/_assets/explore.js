(function () {
document.querySelectorAll('[data-explore="$uid"]:not([data-ready])').forEach(function (root) {
  root.dataset.ready = "1";
  var d = JSON.parse(root.querySelector('script').textContent), frame = root.querySelector('.explore-frame');
  var inputs = [].slice.call(root.querySelectorAll('.explore-in'));
  function show() {
    var k = 0;
    inputs.forEach(function (e, i) {
      k = k * d.labels[i].length + Number(e.value);
      if (e.type === 'range') e.setAttribute('aria-valuetext', d.labels[i][e.value]);
      var o = e.parentNode.querySelector('output'); if (o) o.textContent = d.labels[i][e.value];
    });
    frame.innerHTML = d.frames[d.index[k]];
  }
  inputs.forEach(function (e) { e.addEventListener('input', show); });
  show();
}); })();
