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
from foldbook.notebooks import current_address

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
    if (parent.closest('pre, code, script, style, mjx-container, details:not([open]), .tex, .mathjax_process')) continue;
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
# What colours can break, what scrolls only on a phone, and the names of buttons and links that only a phone shows.
NARROW_AND_DARK = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "aria-hidden-focus"]
NARROW_AND_DARK += ["button-name", "link-name"]
FACTS = """() => ({
  headings: [...document.querySelectorAll('article :is(h1, h2, h3, h4, h5, h6)')].map((h) => Number(h.tagName[1])),
  live: document.querySelectorAll('[data-live][data-ready]').length,
  dead: [...document.querySelectorAll('[data-live]')]
    .filter((e) => !e.shadowRoot?.querySelector('svg *')).map((e) => e.dataset.live),
  // of a picture in panels the first panel says what all of them show
  noalt: [...document.images].filter((i) => !i.alt && !i.closest(".panels")).map((i) => i.outerHTML.slice(0, 90)),
  broken: [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.alt),
  wanted: document.querySelectorAll('span.math, div.math').length,
  typeset: document.querySelectorAll('mjx-container').length,
  wrong: [...document.querySelectorAll('mjx-merror')].map((e) => e.textContent.slice(0, 60)),
  tracebacks: (document.querySelector('article').innerText.match(/Traceback \\(most/g) || []).length,
  buttons: [...document.querySelectorAll('.article-header-buttons a')].map((a) => a.href),
})"""
# Of each picture: what it is, whether it is a drawing of points, and how it looks in the dark.
LOOKS = """() => [...document.querySelectorAll('article :is(.cell_output, .explore, .shown, .slide) img')].map((e) => {
  const style = getComputedStyle(e), drawing = e.src.startsWith('data:image/svg') || Boolean(e.closest('.tag_drawing'));
  return [e.src.slice(0, 14), drawing, style.filter.split('(')[0], style.mixBlendMode];
})"""
OVER, PLAIN = ["invert", "screen"], ["none", "normal"]


def test_page(page_name, site, visit, address, accessibility):
    """No error, nothing from outside, light enough, math typeset, controls that move, in order, and narrow enough for a phone.

    One visit: opened narrow and dark, then made wide and light, with up to a hundred folded pieces unfolded. axe-core finds
    nothing: by all its rules in the light, before that by those whose answer hangs on colours and width.
    """
    window = visit(color_scheme="dark", viewport={"width": 390, "height": 844})
    page = window.open(f"{address}{page_name}.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    window.settle()
    weight, wide = window.bytes, page.evaluate(WIDER)
    assert page.evaluate(CUT) == [], "formulas that end beyond the page, and do not scroll"
    dark, looks = page.evaluate(CONTRAST, TEXT), page.evaluate(LOOKS)
    assert page_name in SLOW_TO_JUDGE or accessibility(page, rules=NARROW_AND_DARK) == []
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
    wrong = [kind for kind, drawing, *look in looks if look != (OVER if drawing else PLAIN)]
    assert wrong == [], "in the dark drawings turn over, and pictures of points keep white paper"
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


def test_there_are_drawings_and_pictures_of_points_to_be_looked_at(site):
    texts = [(site / f"{name}.html").read_text(encoding="utf-8") for name in chapters(site)]
    for wanted in ('src="data:image/svg', 'src="data:image/png', "tag_drawing"):
        assert any(wanted in text for text in texts), wanted


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


def test_a_figure_by_keys_on_paper_and_in_the_dark(visit, address, site):
    """A slider moves by keys and shows its ring; paper has one frame and no controls; a drawing has the page's own paper."""
    from PIL import Image

    window = visit()
    slider = re.compile(r'class="explore"[^<]*(?:<p[^<]*</p>)*<div[^<]*<label>[^<]*<input[^>]*type="range"')
    texts = ((name, (site / f"{name}.html").read_text(encoding="utf-8")) for name in chapters(site))
    moving = next((name for name, text in texts if slider.search(text) and 'src="data:image/svg' in text), None)
    if moving is None:
        pytest.skip("no page has a figure of frames")
    page = window.open(f"{address}{moving}.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    before = page.get_attribute(".explore-frame img", "src")
    page.focus(".explore input[type=range]")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(".explore-frame img", "src") != before
    ring = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"
    wide = "() => document.querySelector('.explore-frame img').getBoundingClientRect().width"
    column = page.evaluate(wide)
    page.click(".explore-whole button")
    page.wait_for_function(f"(column) => ({wide})() > 1.1 * column", arg=column)
    assert page.get_by_role("button", name="Leave full screen").is_visible()
    page.get_by_role("button", name="Leave full screen").click()
    page.wait_for_function(f"(column) => ({wide})() === column", arg=column)
    page.emulate_media(media="print")
    assert not page.is_visible(".explore-controls")
    assert not page.is_visible(".explore-whole")
    assert page.is_visible(".explore-frame img")
    page.emulate_media(media="screen")
    picture = page.locator('article .foldnet-figure img[src^="data:image/svg"]').first
    for scheme in ("light", "dark"):
        window.settle(color_scheme=scheme)
        picture.scroll_into_view_if_needed()
        shot = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
        paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        assert shot.getpixel((2, 2)) == pytest.approx(tuple(paper), abs=1), f"{scheme}: a slab of another colour"
    assert max(shot.convert("L").getdata()) > 180, "no line is light in the dark"


def test_panels_stand_one_below_the_other_on_a_phone(visit, address, site):
    """Each panel is there once, whole and about as large as it was drawn; a wide window has the figure in one piece."""
    names = (name for name in chapters(site) if "data-cuts=" in (site / f"{name}.html").read_text(encoding="utf-8"))
    name = next(names, None)
    assert name, "no page has a figure of panels"
    window = visit()
    page = window.open(f"{address}{name}.html")
    whole = page.locator("article img[data-cuts]").first
    assert whole.is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    whole.wait_for(state="hidden")
    panels = page.locator("article .panels").first.locator("> div")
    cuts = [0, *map(float, (whole.get_attribute("data-cuts") or "").split()), 1]
    assert panels.count() == len(cuts) - 1
    drawn = whole.evaluate("e => e.naturalWidth")
    for panel, left, right in zip(panels.all(), cuts, cuts[1:], strict=False):
        box, image = panel.locator("span").last.bounding_box(), panel.locator("img").last.bounding_box()
        assert box["width"] >= min(0.7 * (right - left) * drawn, 250)
        assert image["x"] + left * image["width"] == pytest.approx(box["x"], abs=1)
        assert image["x"] + right * image["width"] == pytest.approx(box["x"] + box["width"], abs=1)
        assert image["height"] == pytest.approx(box["height"], abs=1)
    assert [bool(panel.locator("img").first.get_attribute("alt")) for panel in panels.all()] == [True] + [False] * (len(cuts) - 2)
    assert page.evaluate(WIDER) <= 0


# ---- the ledger --------------------------------------------------------------------------------------------------------


PAGE = 20  # claims that the ledger shows at a time
SHOWN = "(all) => all.filter((r) => r.offsetHeight).map((r) => ({...r.dataset, id: r.id}))"
SETTLED = """() => ![...document.querySelectorAll('#ledger :is(.tex, .mathjax_process)')]
  .some((e) => e.checkVisibility() && e.getBoundingClientRect().top < innerHeight)"""


def shown(page) -> list[dict]:
    return page.eval_on_selector_all("#ledger li.claim", SHOWN)


def in_the_order_of_the_page(rows: list[dict]) -> list[dict]:
    """What the ledger opens with first: corrections that change a result, then what differs, then the rest."""
    import errata_page

    def place(row) -> int:
        changed = row["verdict"] == "corrected" and errata_page.weight(row) == "result"
        return 0 if changed else 1 if row["verdict"] == "differs" else 2

    return sorted(rows, key=place)


def test_the_ledger_opens_with_what_is_interesting_and_filters_by_keyboard(visit, address):
    """On a phone, and no longer than twenty cards at a time."""
    rows = in_the_order_of_the_page(ledger.ledger(ROOT / "book"))
    page = visit(viewport={"width": 390, "height": 844}).open(f"{address}book/ledger.html")
    first = shown(page)
    assert len(first) == PAGE
    assert {row["verdict"] for row in first} <= {"corrected", "differs"}
    assert page.evaluate("document.documentElement.scrollHeight") < 30_000
    page.click("#ledger-all")
    page.wait_for_function(f"document.getElementById('ledger-count').textContent === '{len(rows)} of {len(rows)} claims'")
    assert page.url.endswith("#view=all")
    page.focus("#ledger-controls select[name=source]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    wanted = [r["id"] for r in rows if r["source"] == "S1"]
    assert [r["id"] for r in shown(page)] == wanted[:PAGE]
    page.focus("#ledger-more")
    page.keyboard.press("Enter")
    assert [r["id"] for r in shown(page)] == wanted[: 2 * PAGE]
    assert page.inner_text("#ledger-count") == f"{len(wanted)} of {len(rows)} claims"
    assert page.get_attribute("#ledger-count", "aria-live") == "polite"
    assert "source=S1" in page.url
    page.focus("#ledger-controls [name=q]")
    page.keyboard.type("S1-def")
    page.keyboard.press("Enter")
    assert {r["id"] for r in shown(page)} == {i for i in wanted if i.startswith("S1-def")}
    page.click("#ledger-controls button[type=reset]")
    page.wait_for_function("() => !location.hash")
    assert [r["id"] for r in shown(page)] == [r["id"] for r in first]


def test_a_filtered_ledger_can_be_linked(visit, address):
    rows = ledger.ledger(ROOT / "book")
    page = visit().open(f"{address}book/ledger.html#source=S2&kind=theorem&verdict=corrected&q=perceptron")
    found = shown(page)
    assert found
    assert all(r["source"] == "S2" and r["kind"] == "theorem" and r["verdict"] == "corrected" for r in found)
    assert len(found) < sum(r["source"] == "S2" and r["kind"] == "theorem" for r in rows)


def test_a_claim_can_be_linked_and_its_math_is_typeset(visit, address):
    rows = ledger.ledger(ROOT / "book")
    claim = next(r for r in rows if "$" in r["says"] and r["points"])
    window = visit()
    page = window.open(f"{address}book/ledger.html#{claim['id']}")
    assert [r["id"] for r in shown(page)] == [claim["id"]]
    row = page.locator(f'[id="{claim["id"]}"]')
    assert row.locator("details").get_attribute("open") is not None
    page.wait_for_selector(f'[id="{claim["id"]}"] .claim-says mjx-container')
    page.wait_for_function(SETTLED)
    assert row.locator("mjx-merror").count() == 0
    assert page.evaluate(RAW) == []
    assert window.errors == []


def test_a_verdict_can_be_cited_by_keys_and_from_a_disk(site, visit, address):
    import cite_page

    rows = ledger.ledger(ROOT / "book")
    claim = next(r for r in rows if r["points"])
    for place in (address, f"{site.as_uri()}/"):
        window = visit(allowed=place)
        page = window.open(f"{place}book/ledger.html#{claim['id']}")
        button = page.get_by_role("button", name=f"cite {claim['id']}", exact=True)
        assert button.get_attribute("aria-expanded") == "false"
        button.focus()
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-expanded") == "true"
        url = f"{place}book/ledger.html#{claim['id']}" if place == address else current_address(ROOT)
        entry = cite_page.verdict(ROOT, claim["id"], claim["title"], claim["verdict"], url)
        assert page.inner_text("pre.cite") == page.evaluate("() => String(getSelection())") == entry
        page.keyboard.press("Enter")
        assert page.locator("pre.cite").count() == 0
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
        if (mml.includes('merror')) wrong.push(e.closest('li').id + e.textContent);
      }
      return wrong;
    }""",
    )
    assert wrong == []
    page.wait_for_function(SETTLED)
    page.evaluate("() => MathJax.startup.promise")
    assert page.evaluate(RAW) == []
    assert window.errors == []
    assert page.evaluate(WIDER) <= 0


def test_each_record_leads_to_its_cell(site):
    """The link of a claim goes to the cell whose stored output holds the record, and another one asks whether it is wrong."""
    rows = anchors_of(site / "book/ledger.html")
    for record in ledger.records(ROOT / "book"):
        link = rows[record["id"]].find("a", class_="claim-cell")["href"]
        page, anchor = urldefrag(link)
        target = anchors_of(site / "book" / page).get(anchor)
        assert target is not None, f"{link} leads nowhere"
        verdict = target.find(id=f"claim-{record['id']}")
        assert verdict, f"{link} does not hold {record['id']}"
        for asked in (verdict.find("a", class_="wrong"), rows[record["id"]].find("a", class_="wrong")):
            assert asked["href"].startswith(f"{current_address(ROOT)}/issues/new?"), f"{record['id']} cannot be doubted"
            assert record["id"] in unquote(asked["href"])


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
