"""The function `live`: what it puts into a notebook, what it refuses, and that its scripts are those of the sources."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from foldbook.guess import guessed
from foldbook.live import BUNDLES, figures, hash_of, live, script

ROOT = Path(__file__).resolve().parents[3]
LARGEST = 60_000
NAMES = list(figures())


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_gets_a_picture_a_state_and_a_script(name):
    bundle = live(name)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/plain"] == f"live({name})"
    html = bundle["text/html"]
    assert html.startswith(f'<div data-live="{name}" data-live-hash="{figures()[name]["hash"]}"')
    assert re.search(r'<img alt="[^"]{40,}"', html)
    assert json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1]) == live(name).state
    assert html.count("<script") == html.count("</script>") == 2
    assert html == live(name).html, "the bytes differ from one run to the next"


def test_its_text_names_what_was_given_and_no_value():
    assert repr(live("breakpoints", ratio=0.5, curve=True)) == "live(breakpoints, curve, ratio)"


def test_a_still_without_points_speaks_of_none():
    assert 'alt="An empty square, which a 2-3-1 network cuts into pieces.' in live("polytopes", hidden=[3], points=[]).html
    assert 'alt="2 points of two classes' in live("polytopes", hidden=[3], points=[[0.0, 0.0, 1], [1.0, 0.0, 0]]).html


def test_arrays_are_taken():
    figure = live("breakpoints", w=np.ones(2), b=np.zeros(2), v=(1, 2))
    assert figure.state["w"] == [1.0, 1.0]
    assert figure.state["v"] == [1, 2]


def test_what_is_written_into_a_state_stays_there():
    live("smoothing").state["points"][0][0] = 77
    assert live("smoothing").state["points"][0][0] != 77


@pytest.mark.parametrize(
    ("name", "state", "sentence"),
    [
        ("breakpoint", {}, "live figures are .*breakpoints.*; got 'breakpoint'"),
        ("breakpoints", {"speed": 1}, "has no speed; its state is w, b, v"),
        ("breakpoints", {"ratio": "big"}, "ratio of the live figure 'breakpoints' is a number; got 'big'"),
        ("breakpoints", {"curve": 3}, "curve .* is a truth value; got 3"),
        ("depth", {"hidden": []}, "at least one hidden layer"),
        ("swaps", {"table": [0, 1, 1, 0], "weights": [1, 0.5]}, "a cube of 3 or 4 inputs; got 2 weights"),
    ],
)
def test_what_it_does_not_know_is_refused(name, state, sentence):
    with pytest.raises(ValueError, match=sentence):
        live(name, **state)


def test_corners_that_fall_together_are_told():
    still = live("swaps", table=[0, 0, 0, 0, 1, 1, 1, 1], weights=[1, 1, 1]).embed()
    assert "corners of both classes fall together" in still
    assert "-1 times" not in still


@pytest.mark.parametrize("name", NAMES)
def test_scripts_keep_to_their_budget_and_their_hash(name):
    text = (BUNDLES / f"{name}.js").read_text(encoding="utf-8")
    assert len(text.encode()) <= LARGEST
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == figures()[name]["hash"]
    assert not re.search(r"</script|https?://(?!www\.w3\.org/2000/svg)|\beval\(|\bfetch\(|import\(", text)


def test_all_figures_together_keep_to_the_budget_of_the_playground():
    assert len(script("all").encode()) <= 239_000  # 300 digits among it; every other page has a few figures, and 150 kB


def test_the_scripts_are_built_from_the_sources(tmp_path):
    """Build them again and compare, where node and npm are there."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("there is no node here: the stored bundles were not built again")
    sources = tmp_path / "live"
    shutil.copytree(ROOT / "live", sources, ignore=shutil.ignore_patterns("node_modules"))
    command = ["npm", "ci", "--no-audit", "--no-fund"]
    try:
        got = subprocess.run(command, cwd=sources, capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        pytest.skip("npm could not bring its packages in four minutes")
    assert "EUSAGE" not in got.stderr, "package.json and package-lock.json disagree: npm install in live/ mends it"
    if got.returncode:
        pytest.skip(f"npm could not bring its packages: {got.stderr.strip().splitlines()[-1:]}")
    subprocess.run(["node", "build.js"], cwd=sources, check=True, capture_output=True, timeout=600)
    built = {p.name: p.read_bytes() for p in (tmp_path / BUNDLES.relative_to(ROOT)).iterdir()}
    stored = {p.name: p.read_bytes() for p in BUNDLES.iterdir()}
    assert set(built) == set(stored)
    assert [name for name in built if built[name] != stored[name]] == [], "python -m tools.live builds them"


def test_no_notebook_holds_a_stale_figure():
    """A figure or a guess stored in a notebook has the script that the package has now."""
    stale = []
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                html = "".join(output.get("data", {}).get("text/html", ""))
                for stored, name in re.findall(r'data-live-hash="(\w+)".*?data-live-script="(\w+)"', html, re.DOTALL):
                    if not (BUNDLES / f"{name}.js").exists() or stored != hash_of(name) or script(name) not in html:
                        stale.append(f"{path.relative_to(ROOT)}: {name}")
    assert stale == [], "python -m tools.live brings them up to date"


@pytest.mark.parametrize("name", ["breakpoints", "guess"])
def test_a_stale_figure_is_brought_up_to_date_and_nothing_else_changes(tmp_path, name):
    from tools.live import refresh

    now = live(name, ratio=2) if name in figures() else guessed("How many?", 3, between=(0, 9))
    old = now.html.replace(hash_of(name), "0123456789ab").replace(script(name), "old")
    outputs = [{"output_type": "display_data", "data": {"text/html": old.splitlines(keepends=True), "text/plain": ["x"]}}]
    cells = [{"cell_type": "code", "source": ["live('breakpoints', ratio=2)"], "outputs": outputs}]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}, indent=1) + "\n", encoding="utf-8")
    assert refresh(path)
    made = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
    assert "".join(made["outputs"][0]["data"]["text/html"]) == now.html
    assert made["outputs"][0]["data"]["text/plain"] == ["x"]
    assert not refresh(path)
