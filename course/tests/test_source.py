"""Sources of problem sets: what students see of them, what they must not see, and what an author forgot."""

import json
import re

import pytest

from course import make, source

CHECKSUMS = {"chain": "bb8ef4c4cee735608419854da024aa9f", "chain-values": "9420f4eb1b36a5f9323ea3947c9fa7aa"}  # by nbgrader 0.9.6


@pytest.mark.skipif("ps2" not in source.names(), reason="the sources of the problem sets are kept elsewhere")
def test_student_versions_are_signed_as_nbgrader_signs_them():
    """Its own tools must be able to read our notebooks: locks, marks and checksums are those that nbgrader itself wrote."""
    made = make.release(source.read("ps2"))
    cells = {cell.id: cell for cell in made.cells}
    for name, checksum in CHECKSUMS.items():
        assert cells[name].metadata["nbgrader"]["checksum"] == checksum
    assert cells["chain-values"].metadata["editable"] is False
    assert "editable" not in cells["chain"].metadata
    assert cells["derivation"].metadata["nbgrader"] | {"checksum": ""} == {
        **{"grade": True, "solution": True, "locked": False, "task": False, "points": 5, "schema_version": 3},
        **{"grade_id": "derivation", "cell_type": "markdown", "checksum": ""},
    }


def test_grading_needs_no_nbgrader():
    """Its format is kept, so that its tools can be used; but no list of what is installed has it, and no module asks for it."""
    for path in (*source.ROOT.glob("requirements*"), source.ROOT / "pyproject.toml"):
        assert "nbgrader" not in path.read_text(encoding="utf-8").lower(), path
    for path in (source.ROOT / "course").glob("*.py"):
        assert not re.search(r"^\s*(import|from) nbgrader", path.read_text(encoding="utf-8"), re.MULTILINE), path


def test_students_see_stubs_and_public_checks(tiny):
    shown = {cell.name: cell.public for cell in tiny.cells}
    assert shown["twice"] == 'def twice(x):\n    """Two times x."""\n    # your code here'
    assert shown["twice-values"] == "selfcheck(twice, [((1.0,), 2.0)])"
    assert shown["answer-of-all"] == "answer_of_all = None\n# your code here"
    assert shown["why"] == "*Your answer.*"
    assert tiny.points == 6
    assert {c.name: c.defines for c in tiny.of("answer")} == {
        "twice": {"twice": "function"},
        "answer-of-all": {"answer_of_all": "value"},
        "why": {},
    }


def test_the_instructors_notebook_has_no_distractor_and_the_books_setup_cell(tiny):
    notebook = tiny.notebook()
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "secret_factor" in text
    assert "forgets the sign" not in text
    assert [cell.id for cell in notebook.cells][:3] == ["text-1", "setup", "given-1"]
    points = {cell.id: cell.metadata["nbgrader"].get("points") for cell in notebook.cells if "nbgrader" in cell.metadata}
    assert points == {
        **dict.fromkeys(("given-1", "twice", "answer-of-all", "given-2")),
        **{"twice-values": 2, "answer-value": 1, "why": 3},
    }


@pytest.mark.parametrize(
    "secret",
    [
        "    secret_factor = 2.0",
        'x = 1; assert twice(np.array([5.0, -1.0]))[1] == -2.0, "negative numbers"',
        "    return 2 * abs(x)",
        "Because six times seven, said the rubric.",
        "### BEGIN SOLUTION",
        "### END HIDDEN TESTS",
    ],
)
def test_a_secret_in_a_student_version_is_found(tiny, release, secret):
    public = "\n".join(cell.source for cell in release.cells)
    assert source.leaks(tiny, public) == []
    assert source.leaks(tiny, public + "\n" + secret)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("points=2", "", "twice-values has no points"),
        ("points=2", "weight=2", "unknown words weight"),
        ('loses="twice-values"', 'loses="nothing"', "must lose tests that exist"),
        ('distractor="twice"', 'distractor="thrice"', "unknown answer thrice"),
        ('distractor="twice" loses="twice-values"', "", "no distractor fails the test twice-values"),
        ('answer="twice"', 'answer="Twice!"', "is no name"),
        ('answer="twice"', 'answer="why"', "two cells are named why"),
        ('def twice(x):\n    """Two times x."""\n    ### BEGIN', "### BEGIN", "defines nothing that a test could ask for"),
        ("    ### END SOLUTION\n", "", "is not closed"),
        ("    secret_factor", "    ### BEGIN HIDDEN TESTS\n    secret_factor", "inside another one"),
    ],
)
def test_what_an_author_forgot_is_said(tiny_text, old, new, sentence):
    assert old in tiny_text
    with pytest.raises(source.SourceError, match=sentence):
        source.parse("tiny", tiny_text.replace(old, new, 1))


def test_an_unknown_set_is_named_with_the_known_ones():
    with pytest.raises(source.SourceError, match="no problem set 'ps99'; there are"):
        source.read("ps99")


@pytest.mark.parametrize("name", source.names())
def test_no_secret_of_a_set_is_anywhere_in_the_book_or_the_package(name):
    problems = source.read(name)
    for folder in ("book", "foldnet"):
        for path in (p for ending in ("ipynb", "md", "py") for p in (source.ROOT / folder).rglob(f"*.{ending}")):
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".ipynb":
                text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
            told = [line for line in source.leaks(problems, text) if len(line) > 40 and not line.startswith("from foldnet")]
            assert told == [], path  # what a test imports is no secret


def test_optional_points_make_up_for_others_and_no_more(tiny_text):
    """A question that begins with *Optional.* adds nothing to what a whole answer is worth."""
    optional = "## Question 2 (3 points): more\n\n*Optional.* Say why.\n\n<!-- #region answer"
    text = tiny_text.replace("Read this.", "## Question 1 (3 points): numbers\n\n*Warm-up.* Read this.")
    made = source.parse("tiny", text.replace("<!-- #region answer", optional))
    assert [cell.name for cell in made.cells if cell.optional and cell.points] == ["why"]
    assert (made.points, made.extra) == (3, 3)
    assert [made.total(earned) for earned in (0, 2.5, 3, 6)] == [0, 2.5, 3, 3]
    assert source.parse("tiny", tiny_text).points == 6


@pytest.mark.parametrize("name", source.names())
def test_a_set_is_what_the_course_asks_for(name):
    """Goals, four to six questions, each with its level, points that add up to what the questions say, a text, a plot and an
    experiment with a conclusion. No number of a section: stories are rewritten, and names stay."""
    problems = source.read(name)
    text = "\n".join(cell.source for cell in problems.of("text"))
    stated = {int(found[1]): (int(found[2]), found[3]) for found in source.QUESTION.finditer(text)}
    assert 4 <= len(stated) <= 6
    assert {level for _, level in stated.values()} >= {"Standard", "Optional"}
    assert "*Warm-up.*" in text
    assert all(level for _, level in stated.values())
    assert sum(points for points, level in stated.values() if level != "Optional") == problems.points
    assert sum(points for points, level in stated.values() if level == "Optional") == problems.extra > 0
    assert "**You will be able to**\n\n- " in text
    assert re.search(r"\*\*Time:\*\* about [\w ]+ hours, .*these are our guesses, no class has been timed yet", text)
    assert not re.search(r"\bsections? \d", text, re.IGNORECASE)
    by_tests = sum(test.points for test in problems.tests if not test.optional)
    assert f"{problems.points:g}, of which {by_tests:g} are found by tests and {problems.points - by_tests:g} by a reader" in text
    assert any(cell.by_hand and not cell.code for cell in problems.cells), "a derivation"
    rubrics = [cell for cell in problems.cells if cell.by_hand and not cell.code]
    assert all("**Rubric.**" in cell.source for cell in rubrics)
    assert "a plot" in text
    assert "experiment" in text.lower()
