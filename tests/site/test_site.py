"""Every page of the built site, as its readers meet it: opened in Chromium, with no network but the site itself."""

from __future__ import annotations

import functools
import io
import json
import re
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest
from bs4 import BeautifulSoup

from foldbook import ledger, plan

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
HEAVIEST = 3_000_000

# Move every control of every explore to its other end; how many there are, and those whose figure stayed the same.
MOVE = """() => {
  const still = [], controls = [...document.querySelectorAll('.explore .explore-in')];
  for (const control of controls) {
    const frame = control.closest('.explore').querySelector('.explore-frame'), before = frame.innerHTML;
    const last = control.tagName === 'SELECT' ? control.options.length - 1 : Number(control.max);
    control.value = String(Number(control.value) === last ? 0 : last);
    control.dispatchEvent(new Event('input', {bubbles: true}));
    if (frame.innerHTML === before || !frame.querySelector('img[alt]')) still.push(control.parentElement.innerText);
  }
  return [controls.length, still];
}"""
# By how many pixels the page is wider than the window.
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
CUT = """() => [...document.querySelectorAll('article span.math')].filter((f) => f.offsetParent && [...f.children].some(
  (part) => part.getBoundingClientRect().right > f.getBoundingClientRect().right + 1)).map((f) => f.textContent)"""
# The text a reader sees, without code: what is left of TeX there was not typeset.
RAW = r"""() => {
  const walker = document.createTreeWalker(document.querySelector('article'), NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (parent.closest('pre, code, script, style, mjx-container, details:not([open])')) continue;
    const hit = node.data.match(/\$[^$\n]{1,80}\$|\\\(|\\\[|\\(frac|sum|int|sigma|beta|mu|mathbb|left|operatorname)\b/);
    if (hit) found.push(node.data.trim().slice(0, 80));
  }
  return found;
}"""
# Contrast of text and background of the elements that match, by the rule of WCAG.
CONTRAST = """(selector) => {
  const rgb = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n[3] === 0 ? null : n.slice(0, 3); };
  const light = (c) => { const l = c.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * l[0] + .7152 * l[1] + .0722 * l[2]; };
  return [...document.querySelectorAll(selector)].map((e) => {
    let back = null;
    for (let up = e; up && !back; up = up.parentElement) back = rgb(getComputedStyle(up).backgroundColor);
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(back || [255, 255, 255])].sort((x, y) => y - x);
    return (a + .05) / (b + .05);
  });
}"""


TEXT = (
    ".foldnet-check, .foldnet-check > b:first-child, .foldnet-check small, .verdict, .claim-where, "
    ".thm, .thm a, article p, article p a, article figcaption"
)


def html_pages(site: Path) -> list[Path]:
    return [p for p in sorted(site.rglob("*.html")) if not {"_static", "_sources"} & set(p.relative_to(site).parts)]


@functools.cache
def soup_of(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


@functools.cache
def anchors_of(page: Path) -> dict:
    """What each anchor of a page names: the first that has it, as in a browser."""
    return {e["id"]: e for e in reversed(soup_of(page).find_all(id=True))}


# ---- every page --------------------------------------------------------------------------------------------------------

SLOW_TO_JUDGE = ("book/api", "book/ledger")  # judged in the light; the contrast of the ledger is measured in the dark as well
FACTS = """() => ({
  headings: [...document.querySelectorAll('article :is(h1, h2, h3, h4, h5, h6)')].map((h) => Number(h.tagName[1])),
  live: document.querySelectorAll('[data-live][data-ready]').length,
  dead: [...document.querySelectorAll('[data-live]')]
    .filter((e) => !e.shadowRoot?.querySelector('svg *')).map((e) => e.dataset.live),
  noalt: [...document.images].filter((i) => !i.alt).map((i) => i.outerHTML.slice(0, 90)),
  broken: [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.alt),
  wanted: document.querySelectorAll('span.math, div.math').length,
  typeset: document.querySelectorAll('mjx-container').length,
  wrong: [...document.querySelectorAll('mjx-merror')].map((e) => e.textContent.slice(0, 60)),
  tracebacks: (document.querySelector('article').innerText.match(/Traceback \\(most/g) || []).length,
  buttons: [...document.querySelectorAll('.article-header-buttons a')].map((a) => a.href),
})"""
# Of each picture: what it is, and whether it turns over in the dark.
LOOKS = """() => [...document.querySelectorAll('article img')].map((e) => {
  const style = getComputedStyle(e);
  return [e.src.slice(0, 14), style.filter.split('(')[0], style.mixBlendMode];
})"""
SVG, PNG, OVER, PLAIN = "data:image/svg", "data:image/png", ("invert", "screen"), ("none", "normal")
IN_THE_DARK = {"book/splines/rich": {(SVG, *OVER), (PNG, *OVER)}, "book/geometry/images": {(PNG, *PLAIN)}}


def test_page(page_name, site, visit, address, accessibility):
    """No error, nothing from outside, light enough, math typeset, controls that move, in order, and narrow enough for a phone.

    One visit: opened narrow and dark, then made wide and light, with up to a hundred folded pieces unfolded. axe-core finds
    nothing, both times.
    """
    window = visit(color_scheme="dark", viewport={"width": 390, "height": 844})
    page = window.open(f"{address}{page_name}.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    window.settle()
    weight, wide = window.bytes, page.evaluate(WIDER)
    assert page.evaluate(CUT) == [], "formulas that end beyond the page, and do not scroll"
    dark, looks = page.evaluate(CONTRAST, TEXT), {tuple(look) for look in page.evaluate(LOOKS)}
    assert page_name in SLOW_TO_JUDGE or accessibility(page) == []
    controls, still = page.evaluate(MOVE)
    window.settle()
    wide = max(wide, page.evaluate(WIDER))
    window.settle(width=1280, color_scheme="light")
    light, facts, raw = page.evaluate(CONTRAST, TEXT), page.evaluate(FACTS), page.evaluate(RAW)
    page.evaluate("""() => [...document.querySelectorAll('article details:not([open])')]  // the ledger's rows are alike
      .filter((_, i, all) => i % Math.ceil(all.length / 100) === 0).forEach((d) => { d.open = true; })""")
    window.settle()
    assert accessibility(page, last=True) == []
    assert window.errors == []
    assert weight < HEAVIEST, f"the page weighs {weight / 1e6:.2f} MB"
    assert wide <= 0, f"the page is {wide} px wider than a phone"
    assert still == [], "controls that move nothing"
    moving = controls + facts["live"]
    assert moving or page_name.removeprefix("book/") not in plan.chapters(), "a chapter without a figure that moves"
    if page_name in ("book/index", "book/ledger", "book/errata", *stories(site)[:1]):
        assert min(dark) >= 4.5, "text that is too dark in the dark"
        assert min(light) >= 4.5, "text that is too light in the light"
    assert IN_THE_DARK.get(page_name, looks) == looks, "in the dark drawings turn over, and pictures of points keep white paper"
    assert facts["dead"] == [], "live figures that did not come to life"
    assert facts["noalt"] == []
    assert facts["broken"] == []
    assert facts["typeset"] >= facts["wanted"], f"{facts['wanted']} formulas, {facts['typeset']} typeset"
    assert facts["wrong"] == []
    assert raw == [], "TeX in the text"
    assert facts["tracebacks"] == 0
    assert facts["headings"][:1] == [1], "a page opens with its title"
    assert facts["headings"].count(1) == 1
    assert all(b - a <= 1 for a, b in zip(facts["headings"], facts["headings"][1:])), "a heading skips a level"
    assert any("github.com" in href for href in facts["buttons"])
    if (ROOT / f"{page_name}.ipynb").is_file():
        colab = f"/blob/main/{page_name}.ipynb"
        assert any("colab" in href and href.endswith(colab) for href in facts["buttons"]), "no Colab button"
        assert any(href.endswith(".ipynb") and href.startswith(address) for href in facts["buttons"]), "no download button"


def test_the_pages_whose_pictures_are_looked_at_are_there(site):
    assert [name for name in IN_THE_DARK if not (site / f"{name}.html").is_file()] == []


def test_axe_finds_what_is_wrong(visit, address, accessibility):
    page = visit().open(f"{address}book/index.html")
    page.evaluate("""() => { document.querySelector('article').insertAdjacentHTML('beforeend',
      '<img src="x.png"><p style="color:#ccc;background:#fff">pale</p><select aria-valuetext="x"></select>'); }""")
    found = " ".join(accessibility(page, within="article"))
    for rule in ("image-alt", "color-contrast", "aria-allowed-attr", "select-name"):
        assert rule in found


def test_axe_judges_no_colour_on_its_way(visit, address, accessibility):
    window = visit(color_scheme="light")
    page = window.open(f"{address}book/index.html")
    window.settle()
    on_its_way = page.evaluate("""() => {
      const button = document.querySelector('.search-button-field');
      button.style.transition = 'none';
      button.style.color = '#fff';
      void getComputedStyle(button).color;
      button.style.transition = 'color 100s';
      button.style.color = '';
      void getComputedStyle(button).color;
      return button.getAnimations().length;
    }""")
    assert on_its_way == 1
    assert accessibility(page, rules=["color-contrast"]) == []


def test_axe_finds_a_pale_word_among_a_thousand_and_leaves_the_page_as_it_was(visit, address, accessibility):
    page = visit().open(f"{address}book/growth/bottleneck-checks.html")
    state = "() => [document.querySelector('article').innerHTML.replaceAll(' data-judged=\"\"', ''), document.body.scrollHeight]"
    before = page.evaluate(state)
    assert accessibility(page, within="article") == []
    assert page.evaluate(state) == before
    page.evaluate("""() => { [...document.querySelectorAll('article pre span')]
      .findLast((e) => !e.firstElementChild && e.checkVisibility() && /\\w{3}/.test(e.textContent)).style.color = '#ccc'; }""")
    (found,) = accessibility(page, within="article")
    assert "color-contrast" in found


def test_a_fold_opens_by_keyboard_and_its_code_can_be_copied(visit, address, site):
    folded = [p for p in html_pages(site) if 'class="fold"' in p.read_text(encoding="utf-8")]
    if not folded:
        pytest.skip("no page has folded code yet")
    page = visit().open(address + folded[0].relative_to(site).as_posix())
    first = page.locator("details.fold").first
    assert not first.locator("pre").is_visible()
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert first.locator("pre").is_visible()
    assert first.locator("button.copybtn").count() == 1


# ---- from the disk, in the dark, on paper ------------------------------------------------------------------------------


def chapters(site: Path) -> list[str]:
    names = [p.relative_to(ROOT).with_suffix("").as_posix() for p in ledger.notebooks(ROOT / "book")]
    return [name for name in names if (site / f"{name}.html").is_file() and not name.startswith("book/assignments/")]


def stories(site: Path) -> list[str]:
    return [name for name in chapters(site) if not name.endswith("-checks")]


def test_the_site_opens_from_disk(site, visit):
    for name in ("index", "book/index", "book/ledger", *stories(site)[:1]):
        window = visit(allowed="file://")
        page = window.open((site / f"{name}.html").as_uri())
        controls, still = page.evaluate(MOVE)
        assert window.errors == []
        assert still == []
        live = page.evaluate("() => document.querySelectorAll('[data-live][data-ready]').length")
        assert controls or live or name == "book/ledger"


def test_a_figure_by_keys_on_paper_and_in_the_dark(visit, address):
    """A slider moves by keys and shows its ring; paper has one frame and no controls; a dark drawing has no white slab."""
    from PIL import Image

    window = visit()
    page = window.open(f"{address}book/splines/rich.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    before = page.get_attribute(".explore-frame img", "src")
    page.focus(".explore input[type=range]")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(".explore-frame img", "src") != before
    ring = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"
    page.emulate_media(media="print")
    assert not page.is_visible(".explore-controls")
    assert page.is_visible(".explore-frame img")
    page.emulate_media(media="screen")
    window.settle(color_scheme="dark")
    picture = page.locator('article .foldnet-figure img[src^="data:image/svg"]').first
    picture.scroll_into_view_if_needed()
    shot = Image.open(io.BytesIO(picture.screenshot())).convert("L")
    corner, brightest = shot.getpixel((2, 2)), max(shot.getdata())
    assert corner < 50
    assert brightest > 180


# ---- the ledger --------------------------------------------------------------------------------------------------------


def shown(page) -> list[dict]:
    rows = "(all) => all.filter((r) => r.offsetHeight).map((r) => ({...r.dataset, id: r.id}))"
    return page.eval_on_selector_all("#ledger tbody tr", rows)


def test_the_ledger_filters_by_keyboard(visit, address):
    rows = ledger.ledger(ROOT / "book")
    page = visit().open(f"{address}book/ledger.html")
    assert len(shown(page)) == len(rows)
    page.focus("#ledger-controls select[name=source]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    wanted = [r["id"] for r in rows if r["source"] == "S1"]
    assert [r["id"] for r in shown(page)] == wanted
    assert page.inner_text("#ledger-count") == f"{len(wanted)} of {len(rows)} claims"
    assert page.get_attribute("#ledger-count", "aria-live") == "polite"
    assert page.url.endswith("#source=S1")
    page.focus("#ledger-controls [name=q]")
    page.keyboard.type("S1-def")
    page.keyboard.press("Enter")
    assert {r["id"] for r in shown(page)} == {i for i in wanted if i.startswith("S1-def")}
    page.click("#ledger-controls button")
    page.wait_for_function(f"document.getElementById('ledger-count').textContent.startsWith('{len(rows)} ')")
    assert "#" not in page.url


def test_a_filtered_ledger_can_be_linked(visit, address):
    rows = ledger.ledger(ROOT / "book")
    page = visit().open(f"{address}book/ledger.html#source=S2&kind=theorem&verdict=corrected&q=perceptron")
    found = shown(page)
    assert found
    assert all(r["source"] == "S2" and r["kind"] == "theorem" and r["verdict"] == "corrected" for r in found)
    assert len(found) < sum(r["source"] == "S2" and r["kind"] == "theorem" for r in rows)


def test_a_claim_can_be_linked_and_its_math_is_typeset_when_opened(visit, address):
    rows = ledger.ledger(ROOT / "book")
    claim = next(r for r in rows if "$" in r["says"])
    window = visit()
    page = window.open(f"{address}book/ledger.html#{claim['id']}")
    row = page.locator(f'[id="{claim["id"]}"]')
    assert row.locator("details").get_attribute("open") is not None
    page.wait_for_selector(f'[id="{claim["id"]}"] details mjx-container')
    assert row.locator("mjx-merror").count() == 0
    assert row.is_visible()
    assert page.evaluate(RAW) == []
    assert window.errors == []


def test_all_statements_of_the_ledger_are_good_tex(visit, address):
    window = visit(viewport={"width": 390, "height": 844})
    page = window.open(f"{address}book/ledger.html")
    wrong = page.eval_on_selector_all(
        "#ledger span.tex",
        """async (all) => {
      const wrong = [];
      for (const e of all) {
        const mml = await MathJax.tex2mmlPromise(e.textContent.slice(2, -2));
        if (mml.includes('merror')) wrong.push(e.closest('tr').id + e.textContent);
      }
      return wrong;
    }""",
    )
    assert wrong == []
    page.eval_on_selector_all(
        "#ledger span.tex",
        """(all) => all.sort((a, b) => b.textContent.length - a.textContent.length)
      .slice(0, 12).forEach((e) => { e.closest('details').open = true; })""",
    )
    page.wait_for_function("() => !document.querySelector('#ledger details[open] span.tex')")
    page.evaluate("() => MathJax.startup.promise")
    assert page.evaluate(RAW) == []
    assert window.errors == []
    assert page.evaluate(WIDER) <= 0


def test_each_record_leads_to_its_cell(site):
    """The link in a row goes to the cell whose stored output holds the record."""
    rows = anchors_of(site / "book/ledger.html")
    for record in ledger.records(ROOT / "book"):
        link = rows[record["id"]].find_all("td")[-1].a["href"]
        page, anchor = urldefrag(link)
        target = anchors_of(site / "book" / page).get(anchor)
        assert target is not None, f"{link} leads nowhere"
        assert target.find(id=f"claim-{record['id']}"), f"{link} does not hold {record['id']}"


def test_cell_anchors_are_the_indices_in_the_file(site):
    """Every code cell but those with nothing to show without a kernel; the title of a folded one stands above its code."""
    for name in chapters(site):
        soup = soup_of(site / f"{name}.html")
        cells = json.loads((ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        code = {f"cell-{i}": "".join(c["source"]) for i, c in enumerate(cells) if c["cell_type"] == "code" and on_the_site(c)}
        found = {e["id"]: e.find("pre").get_text().split() for e in soup.find_all("div", id=re.compile(r"^cell-\d+$"))}
        assert found == {cell: re.sub(r"^# @title .*\n", "", text).split() for cell, text in code.items()}


def on_the_site(cell: dict) -> bool:
    widgets = any("explore-still" in "".join(o.get("data", {}).get("text/html", "")) for o in cell["outputs"])
    return "setup" not in cell["metadata"].get("tags", ()) and not widgets


def test_every_icon_has_its_glyph(site):
    """The icon fonts are cut down to what the pages use: no more, and no less."""
    from fontTools.ttLib import TTFont

    folder = next(site.glob("_static/vendor/fontawesome/*"))
    css = (folder / "css/all.min.css").read_text(encoding="utf-8")
    fonts = {f"fa-{p.stem.split('-')[1]}": set(TTFont(p).getBestCmap()) for p in folder.glob("webfonts/*.ttf")}
    icons = {tuple(i["class"]) for page in html_pages(site) for i in soup_of(page).select("i[class*=fa-], span[class*=fa-]")}
    missing = []
    for classes in icons:
        font = {"fas": "fa-solid", "fab": "fa-brands", "far": "fa-regular"}
        font = next((font.get(c, c) for c in classes if font.get(c, c) in fonts), None)
        for name in (c for c in classes if c.startswith("fa-") and c not in fonts and c not in ("fa-lg", "fa-fw")):
            code = re.search(rf'\.{name}:before[^{{}}]*\{{content:"\\([0-9a-f]+)"', css)
            if code is None or int(code[1], 16) not in fonts[font]:
                missing.append(" ".join(classes))
    assert icons
    assert missing == []
    assert sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) < 200_000


# ---- search and links --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "expected"), [("ReLUNet", "api.html"), ("Cauchy", "splines/breakpoints.html")])
def test_search_finds(word, expected, site, visit, address):
    if not (site / "book" / expected).is_file():
        pytest.skip(f"there is no {expected} yet")
    window = visit()
    page = window.open(f"{address}search.html?q={word}")
    page.wait_for_selector(f'#search-results a[href*="{expected}"]')
    assert window.errors == []


def test_search_works_from_disk(site, visit):
    window = visit(allowed="file://")
    page = window.open((site / "search.html").as_uri() + "?q=ReLUNet")
    page.wait_for_selector('#search-results a[href*="api.html"]')
    assert window.errors == []


def test_every_link_and_anchor_of_the_site_resolves(site):
    soups = {page.relative_to(site).as_posix(): soup_of(page) for page in html_pages(site)}
    anchors = {name: [e["id"] for e in soup.find_all(id=True)] for name, soup in soups.items()}
    wrong = []
    for name, soup in soups.items():
        twice = {i for i in anchors[name] if anchors[name].count(i) > 1 and soup.article and soup.article.find(id=i)}
        wrong += [f"{name}: the anchor {i} stands twice" for i in twice]
        for link in soup.find_all(["a", "img", "script", "link", "source"]):
            target = link.get("href") or link.get("src") or ""
            if link.name != "a" and target.startswith(("http:", "https:", "//")) and "canonical" not in link.get("rel", ()):
                wrong.append(f"{name}: loads {target}")
            if not target or target.startswith(("http:", "https:", "mailto:", "data:", "javascript:", "//")):
                continue
            path, anchor = urldefrag(urljoin(f"http://x/{name}", target))
            path = unquote(path.removeprefix("http://x/").split("?")[0]) or "index.html"
            if not (site / path).is_file():
                wrong.append(f"{name}: {target} does not exist")
            elif anchor and "=" not in anchor and path in anchors and anchor not in anchors[path]:
                wrong.append(f"{name}: {target} has no such anchor")
    assert wrong == []
