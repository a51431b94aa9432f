"""Sources of problem sets: what students see of them, what they must not see, and what an author forgot."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

import foldnet
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


def test_a_part_is_on_real_data_and_on_a_network_of_ones_own():
    texts = "\n".join(cell.source for name in source.names() for cell in source.read(name).cells)
    assert "foldnet.digits()" in texts
    assert "foldnet.of(own)" in texts
    assert "(../own.ipynb)" in texts


def test_the_line_that_grows_a_network_on_digits_grows_it():
    """As the question has it, and with more than half of the test images right after a few steps."""
    texts = "\n".join(cell.source for name in source.names() for cell in source.read(name).of("text"))
    (line,) = re.findall(r"`own = (foldnet\.of\(own\)\.wrong\(.+?\.grow\(\))`", texts)
    torch.manual_seed(0)
    own, digits = torch.nn.Sequential(torch.nn.Linear(64, 4), torch.nn.ReLU(), torch.nn.Linear(4, 10)).double(), foldnet.digits()
    images, labels = torch.as_tensor(digits.x_train, dtype=torch.float64), torch.as_tensor(digits.y_train)
    costs = []
    for neurons in (4, 8, 12):
        assert own[0].out_features == neurons
        adam = torch.optim.Adam(own.parameters(), lr=0.01)
        for _ in range(30):
            loss = torch.nn.functional.cross_entropy(own(images), labels)
            adam.zero_grad()
            loss.backward()
            adam.step()
        costs.append(float(loss.detach()))
        own = eval(line, {"foldnet": foldnet, "own": own, "digits": digits})
        costs.append(float(torch.nn.functional.cross_entropy(own(images), labels).detach()))
    assert costs == sorted(costs, reverse=True)
    right = own(torch.as_tensor(digits.x_test, dtype=torch.float64)).argmax(1).numpy() == digits.y_test
    assert right.mean() > 0.5


STEPS = {"symmetric-proof": "averaged", "both-layers": "residuals", "count-faces": "cut-polygon", "pieces": "part-above"}


@pytest.mark.parametrize(("answer", "step"), STEPS.items())
def test_a_question_that_takes_an_evening_has_a_step_and_a_ladder(answer, step):
    """A function on the way, with a check of its own, and then three hints or more, each folded."""
    problems = next(p for p in map(source.read, source.names()) if step in [cell.name for cell in p.cells])
    names = [cell.name for cell in problems.cells]
    between = problems.cells[names.index(step) : names.index(answer)]
    (own,) = problems.cells[names.index(step)].defines
    assert any(cell.kind == "test" and own in cell.public for cell in between)
    hints = [cell.source for cell in between if cell.kind == "text"]
    found = re.findall(r"<details><summary>Hint (\d): .+</summary>\n\n(?:.+\n)+\n</details>", "\n".join(hints))
    assert found == [str(k) for k in range(1, len(found) + 1)]
    assert len(found) >= 3


def long_sentences(text: str, most: int = 35) -> list[str]:
    """Sentences of more words than that; a formula, a name in code and a link are a word each, a cell of a table is a text."""
    words = ((r"<code>.*?</code>", "C"), (r"\$\$.*?\$\$", "F"), (r"\$[^$]*\$", "F"), (r"`[^`]*`", "C"), (r"<[^>]*>", ""))
    for pattern, word in ((r"^```.*?^```$", ""), (r"^\*\*To read on:.*?$", ""), *words):
        text = re.sub(pattern, word, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    blocks = re.split(r"\n\s*\n|\n- |\n\d\. |\n\||\s\|(?=\s)", text)
    sentences = [s for block in blocks for s in re.split(r"(?<=[.?!:])[*)]*\s+(?=[A-Z*(])", block.replace("\n", " "))]
    return [sentence for sentence in sentences if len(re.findall(r"[\w'-]+", sentence)) > most]


def test_a_long_sentence_is_found():
    long = "One " + "two " * 34 + "$a b c$."
    assert long_sentences(long) == ["One " + "two " * 34 + "F."]
    assert long_sentences("One " + "two " * 20 + "end. Another " + "one " * 20 + "end.") == []
    assert (
        len(long_sentences(f"Begin with <code>```python</code>. {long}\n\n```sh\n{long}\n```\n\n{long}\n\n| a | {long} |")) == 3
    )


PAGES = sorted(path.name for path in (source.ROOT / "book/assignments").glob("*.md"))


@pytest.mark.parametrize("name", [*source.names(), *PAGES])
def test_what_the_course_says_is_read_once(name):
    """Second-language readers too: no sentence of more than 35 words, as in the stories, and of more than 25 in what students
    work by, the sets and their guide. A list of links is no sentence."""
    if name.endswith(".md"):
        text = (source.ROOT / "book/assignments" / name).read_text(encoding="utf-8")
    else:
        text = "\n\n".join(cell.source for cell in source.read(name).of("text"))
    assert long_sentences(text, 35 if name.endswith(".md") and name != "student.md" else 25) == []


SAYS = re.compile(
    r"\?|\b(not|no|without|nothing|missing|too|is|are|has|have|does|do|may|must|should|needs?|needed|costs?|gains?|ends?|finds?"
    r"|changes?|lies?|takes|says|shows|stands?|becomes|steps|fits|fall|follows|names|rise|reach|runs|bends?|gives|depend|start)\b"
)
OTHER = re.compile(r"\b(another|others?|otherwise|elsewhere)\b[^?:;]*$")
WRONG = re.compile(r"\b(wrong|missing|not (the|what|straight|constant|that of)|finds?)\b[^?]*$")


def bare(message: ast.expr | None) -> bool:
    """Whether a message says no more than which case failed, that something else was found, or that something is wrong."""
    pieces = [n.value for n in ast.walk(message) if isinstance(n, ast.Constant) and isinstance(n.value, str)] if message else []
    text = " ".join(pieces)
    return not SAYS.search(text) or bool(OTHER.search(text) or WRONG.search(text))


def test_a_bare_message_is_found():
    bad = ['"thirty random points"', 'f"{k} neurons"', 'f"{n} networks: another median"', '"a kink is elsewhere"']
    bad += ['"the rate is wrong"']
    good = ['"the points may come in any order"', 'f"{n} networks: another median: is it that of all?"']
    assert [bare(ast.parse(text, mode="eval").body) for text in (*bad, *good)] == [True] * 5 + [False] * 2
    assert bare(None)


@pytest.mark.parametrize("name", source.names())
def test_a_hidden_message_names_a_likely_mistake(name):
    """It is all that a student sees of a hidden test: the case, and then what to look at."""
    told = []
    for test in source.read(name).tests:
        hidden = test.source.split("### BEGIN HIDDEN TESTS")[1]
        told += [node.msg for node in ast.walk(ast.parse(hidden)) if isinstance(node, ast.Assert)]
    assert len(told) > 8
    assert [message and ast.unparse(message) for message in told if bare(message)] == []


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
    minutes = {
        int(q): int(m) for q, m in re.findall(r"^## Question (\d+) .*\n\n\*[\w-]+\.\* About (\d+) minutes\.", text, re.MULTILINE)
    }
    assert set(minutes) == set(stated)
    asked = sum(number for question, number in minutes.items() if stated[question][1] != "Optional") / 60
    assert abs(asked - problems.hours) <= 0.25, "what the head says is the sum of what the questions say, to half an hour"
    assert "These are our guesses: no class has been timed yet." in text
    assert not re.search(r"\bsections? \d", text, re.IGNORECASE)
    by_tests = sum(test.points for test in problems.tests if not test.optional)
    assert f"{problems.points:g}, of which {by_tests:g} are found by tests and {problems.points - by_tests:g} by a reader" in text
    assert any(cell.by_hand and not cell.code for cell in problems.cells), "a derivation"
    rubrics = [cell for cell in problems.cells if cell.by_hand and not cell.code]
    assert all("**Rubric.**" in cell.source for cell in rubrics)
    assert "a plot" in text
    assert "experiment" in text.lower()


def test_the_folder_works_in_a_repository_of_its_own(tmp_path):
    """It knows the clone of the book by foldbook, keeps grades beside itself, and checks the student versions of the book."""
    shutil.copytree(source.HOME / "course", tmp_path / "course", ignore=shutil.ignore_patterns("tests", "__pycache__"))
    said = "from course import grade, make, source; print(source.HOME, source.ROOT, make.main(['--check', *source.names()[:1]]))"
    paths = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{source.ROOT}"}
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, cwd=tmp_path, env=paths)
    assert done.stdout.endswith(f"{tmp_path} {source.ROOT} 0\n"), done.stderr


def test_an_installation_points_to_the_folder_and_a_wheel_holds_no_solution(tmp_path):
    """Among the packages every submission could read them."""
    pytest.importorskip("hatchling")
    shutil.copytree(source.HOME / "course", tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__"))
    for build in ("build_wheel", "build_editable"):  # of the same name
        said = f"from hatchling.build import {build}; print({build}('..'))"
        done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, cwd=tmp_path / "course")
        assert done.returncode == 0, done.stderr
        with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as packed:
            files = {Path(name).suffix: packed.read(name).decode() for name in packed.namelist() if ".dist-info/" not in name}
        assert files == ({} if build == "build_wheel" else {".pth": str(tmp_path)})
