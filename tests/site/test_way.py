"""The way through the built site: contents, next, titles, search, text on hover; one browser window for all of it."""

from __future__ import annotations

import functools
import re
import zipfile
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, SoupStrainer

from foldbook import plan
from foldbook.claims import claims

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
STORIES = [name for name, chapter in plan.chapters().items() if chapter.pages(ROOT / "book")]


def html_pages(site: Path) -> list[Path]:
    return [p for p in sorted(site.rglob("*.html")) if not {"_static", "_sources"} & set(p.relative_to(site).parts)]


@functools.cache
def html(path: Path) -> str:
    """A page without its pictures: they are most of it."""
    return re.sub(r'(src|href)="data:[^"]*"', "", path.read_text(encoding="utf-8"))


def text_of(site: Path, name: str) -> str:
    return html(site / f"book/{name}.html")


def soup(text: str, *tags) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser", parse_only=SoupStrainer(*tags) if tags else None)


def neighbour(site: Path, name: str, side: str) -> tuple[str, str] | None:
    """Where *next* (right-next) or *previous* (left-prev) leads from a page, and what it says."""
    link = re.search(rf'<a class="{side}"\s+href="([^"]+)".*?prev-next-title">([^<]*)<', text_of(site, name), re.DOTALL)
    return link and (below(site, site / f"book/{name}.html", link[1]), link[2])


def below(site: Path, path: Path, href: str) -> str:
    """The page that a link leads to, by its name below the book."""
    there = (path.parent / href.split("#")[0]).resolve()
    book = (site / "book").resolve()
    return there.relative_to(book).with_suffix("").as_posix() if there.is_relative_to(book) else ""


def above(site: Path, name: str) -> str:
    return re.search(r'<p class="above">(.*?)</p>', text_of(site, name), re.DOTALL)[1]


def contents(site: Path) -> BeautifulSoup:
    return soup(text_of(site, "index"), "nav").find("nav", class_="bd-docs-nav")


def test_next_visits_all_stories_once_and_shows_their_titles(site):
    name, seen = "index", []
    while (step := neighbour(site, name, "right-next")) and step[0] in plan.chapters():
        name, title = step
        assert title == plan.titles()[name]
        seen.append(name)
    assert seen == STORIES
    assert step[0] == "found"


def test_checks_lead_back_to_their_story_and_on_to_the_next(site):
    for name in STORIES:
        assert neighbour(site, name + plan.CHECKS, "left-prev") == (name, plan.titles()[name])
        assert neighbour(site, name + plan.CHECKS, "right-next") == neighbour(site, name, "right-next")
        assert f'href="{name.split("/")[1]}{plan.CHECKS}.html"' in above(site, name)


def test_a_chapter_has_one_title_in_the_contents_on_its_page_and_in_links(site):
    listed = {a["href"].removesuffix(".html"): a.get_text().strip() for a in contents(site).find_all("a", href=True)}
    headings = {}
    for name, title in plan.titles().items():
        if plan.chapter_of(name) in STORIES:
            assert listed[name] == title
            assert f"<title>{title} " in text_of(site, name)
            assert plan.titles()[plan.chapter_of(name)] in above(site, name)
            headings[name] = re.search(r"<h1>(.*?)<a class=\"headerlink", text_of(site, name), re.DOTALL)[1]
    wrong = [
        f"{path.name}: {said}"
        for path in html_pages(site)
        for href, said in re.findall(r'<a [^>]*href="([^"#]+\.html)"[^>]*>([^<]+)</a>', html(path))
        if (name := below(site, path, href)) in headings and said == headings[name] != plan.titles()[name]
    ]
    assert wrong == []


def test_the_contents_have_the_checks_and_the_course_under_one_entry_each(site):
    listed = contents(site)
    top = [a["href"] for a in listed.select("li.toctree-l1 > a")]
    assert not [href for href in top if plan.CHECKS in href or "assignments/" in href]
    folded = {
        li.a.get_text().strip(): {a["href"] for a in li.select(":scope ul a")} for li in listed.select("li.toctree-l1:has(ul)")
    }
    assert set(folded) == {"Evidence", "The course"}
    assert folded["Evidence"] == {f"{name}{plan.CHECKS}.html" for name in STORIES} | {"ledger.html", "errata.html", "health.html"}


def test_every_page_says_its_version_and_how_to_cite(site):
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    day = re.search(r"^date-released: (.+)$", citation, re.MULTILINE)[1]
    assert f"version: {version}\n" in citation
    for path in html_pages(site):
        if path != site / "index.html":  # the first page leads on at once
            foot = re.search(r'<p class="release">(.*?)</p>', html(path), re.DOTALL)[1]
            assert f'Version {version}, <time datetime="{day}">' in foot
            assert path.stem == "cite" or below(site, path, re.search(r'href="([^"]+)"', foot)[1]) == "cite"
    entries = [pre.get_text() for pre in soup(text_of(site, "cite"), "pre").find_all("pre")]
    assert [entry.split("{foldnet")[0] for entry in entries] == ["@misc", "@techreport", "@incollection", "@misc"]
    assert all(f"{{{version}}}" in entry and f"{{{day}}}" in entry for entry in entries)
    title = re.search(r"type: report\n +title: (.+)\n", citation)[1]
    assert f"{{{title}}}" in entries[1]
    assert entries[3].split("{", 2)[2].split(",")[0] in claims()


def test_every_page_of_a_chapter_has_its_own_entry(site):
    import cite_page

    for name in (page for story in STORIES for page in (story, story + plan.CHECKS)):
        (shown,) = soup(text_of(site, name), "details").find_all("details", class_="cite")
        assert shown.summary.get_text() == "Cite this page"
        assert shown.pre.get_text() == cite_page.page(ROOT, name)
    assert "Cite this page" not in text_of(site, "ledger")


def test_every_name_in_the_index_of_the_api_leads_to_its_section(site):
    import api_page

    index, sections = re.split(r"(?=<section id=\"module-foldnet.nets\")", text_of(site, "api"))
    index = index[index.index("<strong>foldnet</strong>") :]  # behind what the sidebars link
    linked, there = set(re.findall(r'href="#([^"]+)"', index)), set(re.findall(r'id="([^"]+)"', sections))
    for module in api_page.module_names():
        wanted = {f"module-{module}", *(f"{module}.{name}" for name in api_page.described(module)["names"])}
        assert wanted <= linked & there, module


def test_what_was_printed_is_linked(site):
    """The site has and links the report and the print edition where they were set before it was built, and else says how."""
    there = {path.name for path in site.glob("*.pdf")}
    linked = set(re.findall(r'href="\.\./([\w-]+\.pdf)"', text_of(site, "cite")))
    assert linked == there
    assert there or "make report" in soup(text_of(site, "cite"), "article").get_text()


def test_the_whole_site_is_one_file_that_leads_nowhere_else(site):
    with zipfile.ZipFile(site / "how-networks-fold.zip") as file:
        packed = set(file.namelist())
        here = {f"how-networks-fold/{p.relative_to(site).as_posix()}" for p in site.rglob("*") if p.is_file()}
        assert here - packed <= {"how-networks-fold/how-networks-fold.zip", "how-networks-fold/.buildinfo"}
        assert ".zip" not in soup(file.read("how-networks-fold/book/cite.html").decode(), "article").get_text()


def test_terms_lead_to_the_sense_that_is_meant(site):
    import terms

    known = {term.anchor: term for term in terms.terms(ROOT / "book")}
    links = {}
    for name in STORIES:
        found = re.findall(r'<a class="term-link[^"]*" href="[^"]*glossary\.html#([\w-]+)">([^<]+)</a>', text_of(site, name))
        assert len(found) == len(dict(found)), "a term is linked where it first stands, and not again"
        links[name] = dict(found)
        meant = [known[anchor].is_meant_in(name) and known[anchor].pattern.fullmatch(said) for anchor, said in found]
        assert all(meant), name
    assert not [name for name, found in links.items() if not found], "stories without a single term"
    assert len({anchor for found in links.values() for anchor in found}) > 25
    assert "term-roughness" not in {*links["geometry/images"], *links["geometry/sensitivity"]}
    assert not any("covered" in found.values() for found in links.values())
    assert set(known) <= set(re.findall(r'id="([\w-]+)"', text_of(site, "glossary")))


def test_the_map_shows_every_chapter_and_what_it_needs(site):
    front = soup(text_of(site, "index"), "svg")
    for picture in front.find_all("svg", class_="map-picture"):
        drawn = {a["href"].removesuffix(".html"): a.get_text(" ", strip=True) for a in picture.find_all("a", class_="map-node")}
        assert {name: re.sub(r"\s+", " ", said) for name, said in drawn.items()} == {n: plan.titles()[n] for n in STORIES}
        arcs = {(arc["data-needs"], arc["data-of"]) for arc in picture.select(".map-arcs path")}
        assert arcs == {(need, chapter.name) for chapter in plan.chapters().values() for need in chapter.needs}
    glyphs = {symbol["id"] for symbol in front.find_all("symbol")}
    assert glyphs == {f"glyph-{name.split('/')[1]}" for name in STORIES}


def test_the_last_story_of_a_part_tells_how_one_did(site):
    last = {part.chapters[-1].name: part.folder for part in plan.parts().values()}
    for name in STORIES:
        found = re.findall(r'data-guess="tally".*?{"part": "(\w+)"}', text_of(site, name), re.DOTALL)
        assert found == ([last[name]] if name in last else []), name


# ---- in a browser --------------------------------------------------------------------------------------------------------

# What is asked, and the page that must come first; None: any story.
QUERIES = {
    "dead layer": "geometry/linearization",
    "spline": None,
    "cubic spline": "splines/smoothing",
    "Cauchy": "splines/breakpoints",
    "breakpoints": "splines/breakpoints",
    "lonely partition": "splines/landscape",
    "rich regime": "splines/rich",
    "mode collapse": "splines/gans",
    "parity": None,
    "swaps value": "boolean/swaps",
    "NPN class": "boolean/swaps",
    "XOR": "boolean/optima",
    "perceptron": "boolean/perceptron",
    "lottery ticket": "boolean/pruning",
    "fence": "geometry/annulus",
    "tropical": "geometry/linearization",
    "CKA": "geometry/comparison",
    "active subspace": "geometry/sensitivity",
    "random growth": "growth/race",
    "decision boundary": None,
    "ReLUNet": "api",
    "S3-thm-1-bessel": "ledger",
}
ASK = """(query) => {
  history.replaceState(null, "", `?q=${encodeURIComponent(query)}`);
  return Search._performSearch(...Search._parseQuery(query)).reverse().map((found) => found[0].replace("book/", ""));
}"""


def ranked(name: str) -> int | None:
    """Stories, then definitions, then evidence and reference; what else there is may stand between."""
    if name in STORIES:
        return 0
    return {"glossary": 1, "api": 2, "ledger": 2, "errata": 2}.get(name, 2 if name.endswith(plan.CHECKS) else None)


def test_the_search_and_the_texts_on_hover_in_one_window(site, visit, address):
    """Stories first, then definitions, then evidence and reference; a text by pointer and by keys, hidden by Escape."""
    window = visit()
    found = window.open(f"{address}search.html?q=dead+layer")
    found.wait_for_selector("#search-results li a")
    assert found.locator("#search-results li a").first.get_attribute("href") == "book/geometry/linearization.html"
    for query, wanted in QUERIES.items():
        pages = found.evaluate(ASK, query)
        assert pages[0] in (STORIES if wanted is None else [wanted]), f"{query}: {pages[:3]}"
        ranks = [rank for rank in map(ranked, pages) if rank is not None]
        assert wanted in ("api", "ledger") or ranks == sorted(ranks), query
    page = window.open(f"{address}book/splines/rich.html")
    term = page.locator("article a.term-link[href*='glossary']").first
    term.hover()
    card = page.wait_for_selector(".hover-card")
    assert card.get_attribute("role") == "tooltip"
    assert term.get_attribute("aria-describedby") == card.get_attribute("id")
    page.keyboard.press("Escape")
    assert page.locator(".hover-card").count() == 0
    page.mouse.move(0, 0)
    page.evaluate("() => document.querySelectorAll('article details').forEach((one) => { one.open = true; })")
    for kind, selector in {"box": "a.thm-link", "source": "a[href*='references.html#s']"}.items():
        page.locator(f"article {selector}").first.evaluate("(e) => e.focus({focusVisible: true})")
        page.wait_for_selector(".hover-card")
        assert len(page.inner_text(".hover-card")) > 20, kind
        page.evaluate("() => document.activeElement.blur()")
        page.wait_for_selector(".hover-card", state="detached")
    page = window.open(f"{address}book/found.html")
    verdict = page.locator("ul.shown-evidence a").first
    verdict.evaluate("(e) => e.focus({focusVisible: true})")
    page.wait_for_selector(".hover-card .verdict")
    note = page.locator("aside.margin-note").first.bounding_box()
    text = page.locator("article p").first.bounding_box()
    assert note["x"] >= text["x"] + text["width"] - 1, "a note stands beside the text"
    window.settle(width=390)
    note, text = page.locator("aside.margin-note").first.bounding_box(), page.locator("article p").first.bounding_box()
    assert abs(note["x"] - text["x"]) < 2, "on a phone it stands in the text"
    assert window.errors == []


def test_the_rest_of_a_section_waits_for_a_guess(site, visit, address):
    """Until it is made, or passed over; a search in the page, a link, paper and a page without scripts have all of it."""
    story, veiled = f"{address}book/geometry/annulus.html", "() => document.querySelectorAll('.veiled').length"
    window = visit()
    page = window.open(story, waits=True)
    assert page.evaluate(veiled) == page.locator(".veil-line").count() == 2
    hidden = page.locator(".veiled .cell_output, .veiled > p, .veiled .thm")
    assert hidden.count() > 3
    assert not any(one.bounding_box()["height"] and one.is_visible() for one in page.locator(".veiled").all())
    page.locator("section:has(> .veiled) [data-guess] button.quiet").first.click()
    assert page.evaluate(veiled) == page.locator(".veil-line").count() == 1
    page.emulate_media(media="print")
    assert page.locator(".veiled > :last-child").is_visible()
    assert not page.locator(".veil-line").is_visible()
    # not a cell of code alone: what has no output shows nothing until its code is asked for
    target = page.evaluate(
        "() => [...document.querySelectorAll('.veiled [id]')].find((e) => e.getBoundingClientRect().height).id"
    )
    page.emulate_media(media="screen")
    page.goto("about:blank")
    page = window.open(f"{story}#{target}", waits=True)
    assert page.evaluate(veiled) == 0, "the first was passed over, the second is where the link leads"
    assert page.locator(f"[id='{target}']").is_visible()
    assert window.errors == []
    page = visit(java_script_enabled=False).page
    page.goto(story)
    assert page.locator(".veiled").count() == 0


def test_one_switch_shows_the_code_of_all_stories(visit, address):
    """What is folded is not on a story until the reader asks for it; then all of it is, in place, and on the next story too."""
    window, stories = visit(), [f"{address}book/{name}.html" for name in ("splines/rich", "boolean/training")]

    def seen(page) -> list[bool]:
        """Of each piece of folded code, whether it is on the page, under its title."""
        return [code.is_visible() for code in page.locator("details.story-fold > :not(summary)").all()]

    page = window.open(stories[0])
    switch = page.locator("button.code-switch")
    assert len(seen(page)) > 5
    assert not any(seen(page))
    assert not any(title.is_visible() for title in page.locator("details.story-fold > summary").all())
    assert (switch.inner_text(), switch.get_attribute("aria-pressed")) == ("Show the code", "false")
    switch.focus()
    page.keyboard.press("Enter")
    assert all(seen(page))
    assert (switch.inner_text(), switch.get_attribute("aria-pressed")) == ("Hide the code", "true")
    page = window.open(stories[1])
    assert len(seen(page)) > 5
    assert all(seen(page)), "the choice is not remembered"
    page.locator("button.code-switch").click()
    assert not any(seen(page))
    page = window.open(stories[0])
    assert not any(seen(page)), "the second choice is not remembered"
    assert window.errors == []
    page = visit(java_script_enabled=False).page
    page.goto(stories[0])
    assert all(title.is_visible() for title in page.locator("details.story-fold > summary").all()), "each opens by itself"
