"""Each rule of the house is seen to fail: a notebook that keeps all of them, and what breaks each."""

import dataclasses

import pytest

from foldbook.notebooks import WIDGET
from tools import alt, lint, markdown, story

PNG = '<img alt="a line of one neuron" src="data:image/png;base64,AAAA">'

# name of the rule, what it must say, and a change to the good story's cells (returns the new cells, or a whole notebook)
MEETS = {"verdict": "reproduced", "against": "statement", "measured": 1, "target": 1}
RIVAL_AT_THE_END = [
    {"name": "gap", "rivals": [], **MEETS},
    {"name": "rest", "rivals": [{"name": "noise", "measured": 2}], **MEETS},
]
BROKEN = [
    ("setup_comes_first", "not the setup cell", lambda m, c: [c[0], m.code("import sys"), *c[1:]]),
    (
        "setup_comes_first",
        "not the setup cell",
        lambda m, c: [c[0], c[1] | {"source": c[1]["source"].replace("some", "any")}, *c[2:]],
    ),
    ("setup_comes_first", "lacks the tag", lambda m, c: [c[0], m.code(c[1]["source"]), *c[2:]]),
    ("setup_comes_first", "second setup", lambda m, c: [*c, c[1]]),
    ("setup_comes_first", "no code cell", lambda m, c: [cell for cell in c if cell["cell_type"] == "markdown"]),
    ("ran_once_from_the_top", "execution count None", lambda m, c: [*c, m.code("1") | {"execution_count": None}]),
    ("ran_once_from_the_top", "execution count 9", lambda m, c: [*c, m.code("1") | {"execution_count": 9}]),
    ("ran_once_from_the_top", "empty", lambda m, c: [*c, m.code(" ")]),
    ("no_errors", "ValueError", lambda m, c: [*c, m.code("1", {"output_type": "error", "ename": "ValueError"})]),
    ("no_errors", "stderr", lambda m, c: [*c, m.code("1", {"output_type": "stream", "name": "stderr", "text": "Warning"})]),
    ("no_machine", "/home/", lambda m, c: [*c, m.code("1", {"output_type": "stream", "name": "stdout", "text": "/home/me/x"})]),
    ("no_machine", "site-packages", lambda m, c: [*c, m.code("1", m.shown(text__plain="<module from 'lib/site-packages/x'>"))]),
    ("no_machine", "/tmp", lambda m, c: [*c, m.code("open('/tmp/x')")]),
    ("no_machine", "/root", lambda m, c: [*c, m.code("1", m.shown(text__html="<p>/root/.cache</p>"))]),
    ("no_machine", "Users", lambda m, c: [*c, m.code("1", m.shown(text__plain="C:\\Users\\me"))]),
    ("no_machine", "/work/", lambda m, c: [*c, m.code("1", m.shown(text__plain="'/work/x'"))]),
    ("metadata_is_minimal", "widgets", lambda m, c: m.notebook(c, widgets={})),
    ("metadata_is_minimal", "language_info", lambda m, c: m.notebook(c, language_info={"name": "python", "version": "3.11"})),
    ("metadata_is_minimal", "execution", lambda m, c: [*c, m.markdown("x") | {"metadata": {"execution": {}}}]),
    ("metadata_is_minimal", "no id", lambda m, c: [*c, {k: v for k, v in m.markdown("x").items() if k != "id"}]),
    ("metadata_is_minimal", "widget", lambda m, c: [*c, m.code("1", m.shown(**{WIDGET: {}, "text__html": "x"}))]),
    ("metadata_is_minimal", "not in Colab", lambda m, c: [*c, m.code("# @title A\n1") | {"metadata": {"tags": ["folded"]}}]),
    ("metadata_is_minimal", "cellView", lambda m, c: [*c, m.code("1") | {"metadata": {"cellView": "form"}}]),
    ("folds_have_a_title", "has no title", lambda m, c: [*c, m.code("draw()", tags=["folded"])]),
    ("folds_have_a_title", "has no title", lambda m, c: [*c, m.code("# @title \ndraw()", tags=["folded"])]),
    ("folds_have_a_title", "lacks the tag folded", lambda m, c: [*c, m.code("# @title Draw\ndraw()")]),
    ("folds_have_a_title", "more than 80", lambda m, c: [*c, m.code(f"# @title {'x' * 81}\n1", tags=["folded"])]),
    ("is_compared", "nbval-skip", lambda m, c: [*c, m.code("1", tags=["nbval-skip"])]),
    ("is_compared", "nbval-skip", lambda m, c: [*c, m.code("# NBVAL_SKIP\n1")]),
    ("is_compared", "raises-exception", lambda m, c: [*c, m.code("1/0", tags=["raises-exception"])]),
    ("is_compared", "not compared", lambda m, c: [*c, m.code("check()", m.record(), tags=["nbval-ignore-output"])]),
    ("pictures_have_alt_text", "bare image/png", lambda m, c: [*c, m.code("1", m.shown(image__png="AA"))]),
    ("pictures_have_alt_text", "bare image/svg", lambda m, c: [*c, m.code("1", m.shown(**{"image/svg+xml": "<svg/>"}))]),
    ("pictures_have_alt_text", "without alt", lambda m, c: [*c, m.html('<img src="data:,">')]),
    ("pictures_have_alt_text", "without alt", lambda m, c: [*c, m.html('<img alt=" " src="data:,">')]),
    ("pictures_have_alt_text", "file's name", lambda m, c: [*c, m.html('<img alt="fig/one.png" src="data:,">')]),
    ("pictures_have_alt_text", "says little", lambda m, c: [*c, m.html('<img alt="a figure" src="data:,">')]),
    ("pictures_have_alt_text", "without alt", lambda m, c: [*c, m.code("1", m.explore(alt='<img src="data:,{k}">'))]),
    ("pictures_have_alt_text", "without alt", lambda m, c: [*c, m.markdown('<p><img src="data:,"></p>')]),
    (
        "captions_hold_in_the_dark",
        "says 'Black'",
        lambda m, c: [*c, m.html('<img alt="a line of one neuron" src="data:image/svg+xml,"><figcaption>Black: f</figcaption>')],
    ),
    (
        "captions_hold_in_the_dark",
        "says 'White'",
        lambda m, c: [*c, m.html('<img alt="a line of one neuron" src="data:image/svg+xml,">'), m.markdown("*White: f.*")],
    ),
    (
        "captions_hold_in_the_dark",
        "says 'white'",
        lambda m, c: [*c, m.code("1", m.shown(text__html=PNG + "<figcaption>f is white</figcaption>"), tags=["drawing"])],
    ),
    ("captions_hold_in_the_dark", "shows none", lambda m, c: [*c, m.code("1", tags=["drawing"])]),
    ("is_light", "3.1 MB", lambda m, c: [*c, m.code("1", m.shown(text__plain="x" * 3_100_000))]),
    ("is_light", "explores have", lambda m, c: [*c, m.code("1", m.explore(alt=m.IMG + "x" * 500_000))]),
    ("is_light", "61 frames", lambda m, c: [*c, m.code("1", m.explore(frames=61))]),
    ("markdown_is_plain", "directive", lambda m, c: [*c, m.markdown("```{note}\nx\n```")]),
    ("cells_are_short", "26 lines", lambda m, c: [*c, m.code("\n".join(["1"] * 26))]),
    ("cells_are_short", "26 lines", lambda m, c: [*c, m.code("\n".join(["f(", *["    x,"] * 25, '    "text",', ")"]))]),
    (
        "printed_lines_fit",
        "line 2 of what it prints has 87 characters, more than 86",
        lambda m, c: [*c, m.code("1", {"output_type": "stream", "name": "stdout", "text": ["x" * 86 + "\n", "y" * 87]})],
    ),
    ("checks_are_known", "lacks", lambda m, c: [*c, m.code("1", m.record(id="S3-nowhere"))]),
    ("checks_are_known", "assigned to splines/other", lambda m, c: [*c, m.code("1", m.record(id="S3-far"))]),
    ("checks_are_known", "what is true", lambda m, c: [*c, m.code("1", m.record(id="S3-false", verdict="corrected"))]),
    ("checks_are_known", "no point of it is corrected", lambda m, c: [*c, m.code("1", m.record(id="S3-heavy"))]),
    ("checks_are_known", "shows another text/plain", lambda m, c: [*c, m.code("1", m.record(what="y"))]),
    ("checks_are_known", "its numbers make it differs", lambda m, c: [*c, m.code("1", m.changed("differs", "reproduced"))]),
    ("checks_are_known", "older form", lambda m, c: [*c, m.code("1", m.shown(**{lint.MIME: {"id": "S3-one"}}))]),
    ("verdicts_are_refereed", "no published value", lambda m, c: m.refereed(c, "number")),
    ("verdicts_are_refereed", "no criterion", lambda m, c: m.refereed(c, "shape")),
    ("verdicts_are_refereed", "book/data lacks", lambda m, c: m.refereed(c, "statement", stored="nowhere", live="all")),
    ("verdicts_are_refereed", "no mutation", lambda m, c: m.refereed(c, "statement")),
    ("verdicts_are_refereed", "no false twin", lambda m, c: m.refereed(c, "statement")),
    ("verdicts_are_refereed", "its headline, gap, is refuted", lambda m, c: m.refereed(c, "statement", points=RIVAL_AT_THE_END)),
    ("checks_are_known", "what was tried", lambda m, c: [*c, m.code("1", m.record(verdict="differs"))]),
]


@pytest.mark.parametrize(("rule", "sentence", "change"), BROKEN, ids=[f"{b[0]}-{i}" for i, b in enumerate(BROKEN)])
def test_each_rule_fails_where_it_is_broken(made, rule, sentence, change):
    changed = change(made, made.story_cells())
    broken = changed if isinstance(changed, lint.Notebook) else made.pages_of(changed)[0]
    (check,) = (r for r in lint.RULES if r.__name__ == rule)
    found = list(check(broken))
    assert any(sentence in problem for problem in found), found
    assert set(found) <= set(lint.problems(broken))


def test_the_good_story_and_its_checks_are_good(made):
    written, checks = made.pages_of()
    assert (written.role, checks.role) == ("story", "checks")
    assert lint.problems(written) == []
    assert lint.problems(checks) == []


def test_a_chapter_without_claims_needs_no_verdict(made, monkeypatch):
    told_none = (
        cell for cell in made.story_cells() if lint.MIME not in str(cell.get("outputs")) and "#claim-" not in cell["source"]
    )
    bare, _ = made.pages_of(list(told_none))
    assert any("0 verdicts" in problem for problem in lint.problems(bare))
    monkeypatch.setattr(lint.Notebook, "claims", lambda nb: {})
    assert not any("verdicts" in problem for problem in lint.problems(bare))


def swap(cells, index, *new):
    return [*cells[:index], *new, *cells[index + 1 :]]


def told(cells, old, new):
    """The cells with another text somewhere in their markdown."""
    assert any(old in c["source"] for c in cells)
    return [c | {"source": c["source"].replace(old, new)} if c["cell_type"] == "markdown" else c for c in cells]


def printing(m, text):
    return m.code("# @title Print\nprint()", {"output_type": "stream", "name": "stdout", "text": text}, tags=["folded"])


BROKEN_STORY = [
    ("links_lead_somewhere", "splines/nowhere", lambda m, c: told(c, "depth.ipynb", "nowhere.ipynb")),
    ("links_lead_somewhere", "links to glossary", lambda m, c: told(c, "../ledger.md", "../glossary.md")),
    ("opens_with_a_figure", "open with the title", lambda m, c: swap(c, 0, m.markdown("Look."))),
    ("opens_with_a_figure", "more than one title", lambda m, c: [*c, m.markdown("# Again")]),
    ("opens_with_a_figure", "no figure among", lambda m, c: swap(c, 2)),
    ("opens_with_a_figure", "no figure among", lambda m, c: [*c[:2], *[m.markdown("x")] * 4, *c[2:]]),
    ("opens_with_a_figure", "open code before", lambda m, c: [*c[:2], m.code("1"), *c[2:]]),
    ("opens_with_a_figure", "what one needs", lambda m, c: told(c, "You need", "Want")),
    ("opens_with_a_figure", "the reading time", lambda m, c: told(c, "Reading time", "Time")),
    ("is_a_story", "2,6", lambda m, c: [*c, m.markdown("word " * 1000)]),
    ("is_a_story", "words; a story has", lambda m, c: told(c, "word " * 1600, "")),
    ("is_a_story", "Summary", lambda m, c: told(c, "## Summary", "## End")),
    ("is_a_story", "Exercises", lambda m, c: told(c, "## Exercises", "## Tasks")),
    ("is_a_story", "no live figure", lambda m, c: swap(c, 2, m.code("# @title F\n1", m.PLOT, tags=["folded"]))),
    ("states_little", "5 statements", lambda m, c: [*c, *[m.markdown("> **Lemma** (again). For all $x$, $x = x$.")] * 4]),
    ("ends_with_what_is_open", "what the story leaves open", lambda m, c: told(c, "Left open: does it bend? ", "")),
    ("ends_with_what_is_open", "does not lead on", lambda m, c: told(c, "**Next:** [Depth](depth.ipynb).", "**Next:** depth.")),
    ("ends_with_what_is_open", "does not lead on", lambda m, c: told(c, "**Next:** ", "")),
    ("open_code_teaches", "16 lines of open code", lambda m, c: [*c, m.code("\n\n".join(["1"] * 16))]),
    (
        "open_code_teaches",
        "5 open code cells",
        lambda m, c: [*[cell for cell in c if "check(" not in cell["source"]], *[m.code(f"{k}") for k in range(5)]],
    ),
    ("prints_no_raw_output", "prints 7 lines", lambda m, c: [*c, printing(m, "a line\n" * 7)]),
    ("prints_no_raw_output", "a dictionary", lambda m, c: [*c, printing(m, "{'mean': 3}")]),
    ("prints_no_raw_output", "a tuple", lambda m, c: [*c, printing(m, "shape (3, 4)")]),
    ("prints_no_raw_output", "a truth value", lambda m, c: [*c, printing(m, "they agree: True")]),
    ("prints_no_raw_output", "an underscore", lambda m, c: [*c, printing(m, "mean_loss is 3")]),
    ("prints_no_raw_output", "a tuple", lambda m, c: [*c, m.code("(2, 3)", m.shown(text__plain="(2, 3)"))]),
    ("prints_no_raw_output", "a dictionary", lambda m, c: [*c, m.code("x", m.shown(text__plain=["{'mean':\n", " 3}"]))]),
    ("verdicts_are_lines", "8 verdicts", lambda m, c: [*c, *[m.code("1", m.record())] * 4]),
    ("verdicts_are_lines", "shows a box", lambda m, c: [*c, m.code("1", m.record(says=None))]),
    ("verdicts_are_lines", "its verdict is reproduced, ✓", lambda m, c: told(c, "✓ *It is true", "≈ *It is true")),
    ("verdicts_are_lines", "by the word 'checked'", lambda m, c: told(c, "[reproduced]", "[checked]")),
    ("verdicts_are_lines", "neither page", lambda m, c: told(c, "#claim-S3-false", "#claim-S3-nowhere")),
    ("asks_for_a_guess", "0 guesses", lambda m, c: swap(c, 9)),
    ("asks_for_a_guess", "4 guesses", lambda m, c: [*c, *[c[9]] * 3]),
    ("is_linked", "no link to its checks", lambda m, c: told(c, "sample-checks.ipynb", "sample.ipynb")),
    ("is_linked", "1 other chapters", lambda m, c: told(c, "../boolean/swaps.ipynb", "https://example.org")),
    ("is_linked", "'the chapter on depth' is not a link", lambda m, c: [*c, m.markdown("See the chapter on depth.")]),
    ("exercises_are_graded", "2 exercises", lambda m, c: swap(c, 12)),
    ("exercises_are_graded", "'number 2' does not open", lambda m, c: told(c, "*Standard.*", "Standard.")),
    ("exercises_are_graded", "grade Research", lambda m, c: told(c, "*Research.*", "*Standard.*")),
    ("exercises_are_graded", "prediction", lambda m, c: told(c, "Predict it.", "Show it.")),
    ("has_solutions", "3 exercises and 0 solutions", lambda m, c: told(c, "<summary>Solution", "<summary>Answer")),
    ("has_solutions", "not closed", lambda m, c: [*c, m.markdown("<details>")]),
]
BROKEN_CHECKS = [
    ("opens_with_its_story", "open with the title", lambda m, c: told(c, "# The checks", "The checks")),
    ("opens_with_its_story", "link to its story", lambda m, c: told(c, "sample.ipynb", "depth.ipynb")),
    ("opens_with_its_story", "run time", lambda m, c: told(c, "Run time", "Takes")),
    ("opens_with_its_story", "References", lambda m, c: c[:-1]),
    ("opens_with_its_story", "is not a link", lambda m, c: [*c, m.markdown("As the chapter about depth says.")]),
    ("has_every_verdict", "S3-false has a verdict neither", lambda m, c: swap(c, 2)),
    ("has_every_verdict", "one of them is enough", lambda m, c: [*c, m.code("1", m.record())]),
]


@pytest.mark.parametrize(("rule", "sentence", "change"), BROKEN_STORY, ids=[f"{b[0]}-{i}" for i, b in enumerate(BROKEN_STORY)])
def test_each_rule_for_a_story_fails_where_it_is_broken(made, rule, sentence, change):
    broken, _ = made.pages_of(story=change(made, made.story_cells()))
    found = list(getattr(story, rule)(broken))
    assert any(sentence in problem for problem in found), found
    assert set(found) <= set(lint.problems(broken))


@pytest.mark.parametrize(("rule", "sentence", "change"), BROKEN_CHECKS, ids=[f"{b[0]}-{i}" for i, b in enumerate(BROKEN_CHECKS)])
def test_each_rule_for_checks_fails_where_it_is_broken(made, rule, sentence, change):
    _, broken = made.pages_of(checks=change(made, made.checks_cells()))
    found = list(getattr(story, rule)(broken))
    assert any(sentence in problem for problem in found), found
    assert set(found) <= set(lint.problems(broken))


def test_every_rule_has_a_broken_example():
    every = {*lint.RULES, *story.STORY_RULES, *story.CHECKS_RULES}
    assert {b[0] for b in (*BROKEN, *BROKEN_STORY, *BROKEN_CHECKS)} | {"is_two_pages"} == {rule.__name__ for rule in every}


def test_a_chapter_is_two_pages(made):
    for page, other in zip(made.pages_of(), ("splines/sample-checks", "splines/sample is not there")):
        (problem,) = story.is_two_pages(dataclasses.replace(page, twin=None))
        assert other in problem
        assert problem in lint.problems(dataclasses.replace(page, twin=None))
        assert not list(story.is_two_pages(page))


def test_words_are_those_that_one_reads(made):
    folded = "<details><summary>S</summary>\n\nhid\n\n</details>"
    text = f"# Two words\n\nOf $x + y$ and [a link](far.ipynb).\n\n```python\ncode\n```\n{folded}"
    assert story.words(made.notebook([made.markdown(text)])) == 6


def test_a_story_may_have_long_code_where_it_is_folded_or_an_exercise(made):
    long = "\n".join(["1"] * 20)
    fine = [made.code(f"# @title Draw\n{long}", tags=["folded"]), made.code(f"selfcheck(f, [])\n{long}")]
    written, _ = made.pages_of(story=[*made.story_cells(), *fine])
    assert lint.problems(written) == []


def test_a_page_outside_the_parts_needs_no_exercises(made):
    cells = [cell for cell in made.story_cells() if "Exercise" not in cell["source"]]
    assert lint.problems(made.pages_of(cells)[0])
    page = made.notebook(cells, name="index")
    assert [p for p in lint.problems(page) if "assigned to" not in p] == []


def test_base64_is_no_path(made):
    picture = made.shown(text__html='<img alt="a line and a dot" src="data:image/png;base64,AAAA/tmp/home/root">')
    assert lint.problems(made.pages_of([*made.story_cells(), made.code("1", picture)])[0]) == []


PLAIN = [
    "$x$ and $$y$$",
    "$$\n\\frac{a}{b}\n$$",
    "> **Theorem 2.1.1** (name). Text with $x$,\n> $$a = b$$\n> and more.",
    "a price of \\$5",
    "`{k}` and `$` and ``a ` b``",
    "```python\nprint('$')  # :::\n% magic\n(label)=\n```",
    "$p$-value, $x$'s, ($y$), the interval $[0, 1)$, $a < b$, $[^a]$",
    "| a | b |\n|---|---|\n| $x$ | $y$ |",
    "<details><summary>Solution</summary>\n\nText $x$.\n\n```python\nx = 1\n```\n\n</details>",
    "![a drawing of it](data:image/png;base64,AAAA)",
    "[a link](https://example.org) and a [page](../splines/other.ipynb)",
    "a set $\\{x\\}$ and a {brace} in text",
]
FOREIGN = [
    ("```{note}\nx\n```", "directive"),
    ("~~~{note}\nx\n~~~", "directive"),
    ("> ```{note}\n> x\n> ```", "directive"),
    (":::{note}\nx\n:::", ":::"),
    ("see {cite}`hanin2019`", "role"),
    ("see {prf:ref}`thm`", "role"),
    ("(label)=\n# Title", "label"),
    ("(a-label)=", "label"),
    ("$$x$$ (eq)", "label after"),
    ("% a comment", "comment"),
    ("text\n+++\ntext", "+++"),
    (":name: value", "field"),
    ("text[^1]\n\n[^1]: note", "footnote"),
    ("![a drawing](fig.png)", "image"),
    ("![a drawing](https://example.org/fig.png)", "image"),
    ('text <img alt="x" src="fig.png"> text', "image"),
    ('<img alt="x" src="fig.png">', "image"),
    ("a $x", "does not close"),
    ("$5 and $x$", "does not close"),
    ("$$x", "does not close"),
    ("> $$a\n> = b$$", "one line"),
    ("> text\n> $$\n> a\n> $$", "one line"),
    ("<details><summary>Solution</summary>\nText $x$.\n</details>", "HTML block"),
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_markdown_passes(text):
    assert list(markdown.problems(text)) == []


@pytest.mark.parametrize(("text", "sentence"), FOREIGN)
def test_foreign_markdown_is_found(text, sentence):
    assert any(sentence in problem for problem in markdown.problems(text))


def test_frames_are_read_from_a_real_explore():
    from foldbook.explore import explore
    from foldnet import plots

    def draw(k):
        fig, axes = plots.subplots()
        axes.plot([0, k])
        return fig

    page = explore(draw, alt="a line that rises to {k}", k=[1, 2, 3]).html
    assert len(alt.frames(page)) == 3
    assert list(alt.problems(page)) == []
    assert len(list(alt.problems(page.replace("a line that rises to 2", "")))) == 1


def test_the_command_tells_the_problems(made, tmp_path, capsys):
    (tmp_path / "book" / "splines").mkdir(parents=True)
    (tmp_path / "_config.yml").write_text(f"repository: {{url: {made.ADDRESS}}}")
    (good, checks), bad = made.pages_of(), made.notebook(made.story_cells()[1:])
    (tmp_path / "book" / "boolean").mkdir()
    for page in ("splines/depth", "boolean/swaps", "ledger"):  # what the story links to
        (tmp_path / "book" / f"{page}.md").touch()
    (tmp_path / "book/splines/sample.ipynb").write_text(good.text)
    (tmp_path / "book/splines/sample-checks.ipynb").write_text(checks.text)
    assert lint.main([], tmp_path) == 0
    assert "splines/sample: fine" in capsys.readouterr().out
    (tmp_path / "book/splines/sample.ipynb").write_text(bad.text)
    assert lint.main(["splines/sample"], tmp_path) == 1
    assert "title" in capsys.readouterr().out
    assert lint.main(["splines/none"], tmp_path) == 1
    assert "there are splines/sample" in capsys.readouterr().err
