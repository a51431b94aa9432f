"""A live figure as an anywidget: by anywidget's contract in Chromium, and where JupyterLab and anywidget are installed, there."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foldbook.live import figures, live, script

ROOT = Path(__file__).resolve().parents[3]
HAS = {name: importlib.util.find_spec(name) is not None for name in ("anywidget", "jupyterlab")}

# what anywidget 0.9 promises of a model, and nothing more
MODEL = """(state) => {
  const heard = {}, told = [];
  return {
    told, get: (key) => state[key],
    set(key, value) { const same = JSON.stringify(state[key]) === JSON.stringify(value); state[key] = value;
      if (!same) [...heard[`change:${key}`] ?? []].forEach((act) => act()); },
    save_changes() { told.push(JSON.parse(JSON.stringify(state))); },
    on(event, act) { (heard[event] ??= []).push(act); },
    off(event, act) { heard[event] = (heard[event] ?? []).filter((other) => other !== act); },
    heard: () => Object.values(heard).flat().length,
  };
}"""


def test_without_anywidget_a_sentence_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    sentence = r"needs the package anywidget: pip install anywidget; without it, live\('sheet'\)"
    with pytest.raises(ModuleNotFoundError, match=sentence):
        live("sheet").widget()


@pytest.mark.browser
def test_a_kernel_reads_what_the_reader_does_and_is_heard(chromium):
    """Every script as the module that anywidget loads; then one of them moved by keys, by Python, and taken away."""
    page = chromium.new_page()
    errors = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.goto("about:blank")
    load = f"""async ([source, name, state]) => {{
      const made = ({MODEL})(state), el = document.body.appendChild(document.createElement("div"));
      const text = source + `\\nexport default {{ render: (view) => globalThis.foldnetLive.${{name}}(view) }};`;
      const figure = (await import(URL.createObjectURL(new Blob([text], {{ type: "text/javascript" }})))).default;
      globalThis.made = made;
      globalThis.away = figure.render({{ model: made, el }});
      globalThis.el = el;
      return el.shadowRoot.querySelectorAll(".live svg :is(path, rect)").length;
    }}"""
    for name in [*figures(), "breakpoints"]:
        page.evaluate("() => globalThis.away?.()")
        assert page.evaluate(load, [script(name), name, live(name).state]) > 0, name
    bend = page.get_by_role("slider", name="bend 1")
    before = page.evaluate("() => made.get('b')")
    bend.focus()
    bend.press("ArrowRight")
    after = page.evaluate("() => made.told.at(-1).b")
    assert after[0] != before[0]
    assert after[1:] == before[1:]
    assert page.evaluate("document.activeElement === el"), "a key of the reader does not begin the figure anew"
    page.evaluate("() => { made.set('w', [1, -1]); made.set('b', [0.5, 0.5]); made.set('v', [1, 1]); }")
    page.wait_for_function("el.shadowRoot.querySelectorAll('[aria-label^=\"bend \"]').length === 2")
    assert bend.get_attribute("aria-valuetext").startswith("bend at −0.50")
    page.evaluate("() => away()")
    assert page.evaluate("() => [made.heard(), el.shadowRoot.childElementCount]") == [0, 0]
    assert errors == []
    page.close()


@pytest.mark.skipif(not HAS["anywidget"], reason="anywidget is not installed: .widget() was not tried")
@pytest.mark.parametrize("name", figures())
def test_a_widget_has_the_figures_values(name):
    figure = live(name)
    widget = figure.widget()
    assert widget.values == figure.state
    assert set(figure.state) <= set(widget.get_state())


def port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def notebook() -> dict:
    sources = [
        "from foldbook.live import live\nw = live('breakpoints', w=[1.0, -2.0], b=[1.0, 1.0], v=[1.0, 0.5]).widget()\nw",
        "live('landscape')",
        "w.b = [0.0, 1.0]",
        "print('read', -w.b[0] / w.w[0])",
    ]
    empty = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    cells = [{**empty, "id": f"cell{i}", "source": source} for i, source in enumerate(sources)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


@pytest.mark.browser
@pytest.mark.skipif(not all(HAS.values()), reason="JupyterLab and anywidget are not both installed: neither was tried together")
def test_in_jupyterlab_both_ways_work(chromium, tmp_path):
    """The widget is moved by keys and read, set and seen; the plain output beside it is alive too."""
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook()), encoding="utf-8")
    at = port()
    options = ["--no-browser", "--allow-root", f"--port={at}", "--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path}"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JUPYTER_CONFIG_DIR": str(tmp_path / "config")}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([sys.executable, "-m", "jupyterlab", *options], env=env, **quiet)
    try:
        for _ in range(120):
            time.sleep(0.5)
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", at)) == 0:
                    break
        page = chromium.new_page(viewport={"width": 1300, "height": 1600})
        page.goto(f"http://127.0.0.1:{at}/lab/tree/a.ipynb")
        page.get_by_text("| Idle").wait_for(timeout=120_000)

        def run(cell: int) -> None:
            page.locator(".jp-CodeCell .cm-content").nth(cell).click()
            page.keyboard.press("Shift+Enter")

        run(0)
        widget = page.locator(".jp-CodeCell").nth(0)
        bend = widget.get_by_role("slider", name="bend 1")
        bend.wait_for(timeout=120_000)
        run(1)
        plain = page.locator(".jp-CodeCell").nth(1).get_by_role("slider", name="bend 2")
        plain.wait_for(timeout=60_000)
        bend.focus()
        for _ in range(3):
            bend.press("ArrowRight")
        page.wait_for_timeout(500)
        run(3)
        page.locator(".jp-CodeCell").nth(3).locator(".jp-RenderedText").wait_for(timeout=60_000)
        assert float(re.search(r"read (\S+)", page.locator(".jp-CodeCell").nth(3).inner_text())[1]) == pytest.approx(-0.85)
        run(2)
        widget.locator('[aria-label="bend 1"][aria-valuetext^="bend at 0.00"]').wait_for(timeout=60_000)
        plain.focus()
        before = plain.get_attribute("aria-valuenow")
        plain.press("ArrowRight")
        assert float(plain.get_attribute("aria-valuenow")) == pytest.approx(float(before) + 0.05)
        kept = page.locator(".jp-CodeCell").nth(1).locator(".readout")
        for handle, told in ((plain, kept), (bend, None)):  # by the pointer, in the page and as the kernel hears it
            before, words = float(handle.get_attribute("aria-valuenow")), told and told.inner_text()
            handle.scroll_into_view_if_needed()
            box = handle.locator("path").bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + 40, y, steps=4)
            page.mouse.up()
            assert float(handle.get_attribute("aria-valuenow")) > before + 0.2
            assert told is None or told.inner_text() != words
        page.wait_for_timeout(500)
        run(3)
        page.locator(".jp-CodeCell").nth(3).get_by_text(re.compile(r"read 0\.[2-9]")).wait_for(timeout=60_000)
        page.close()
    finally:
        server.terminate()
        server.wait(timeout=300)
