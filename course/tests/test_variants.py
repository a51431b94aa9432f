"""Numbers of one's own: the same set for everybody, with a seed from the class list."""

import json
import math
import re

import nbformat
import pytest

from course import collect, grade, look, make, numbers, roster, shield, source, variants
from course.kernel import Limits
from course.tests import classroom

kept = pytest.mark.skipif("ps2" not in source.names(), reason="the sources of the problem sets are kept elsewhere")
walled = pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run")
LIMITS = Limits(cell=20, call=5, test=20, shield="basic")
TEXT = """<!-- variants
factor = 2 | 3 | 5 | 7
shift = 10 | 20 | 30
-->

# Lines

Multiply by <<factor>> and add $<<shift + 1>>$.

```python answer="line"
def line(x):
    'A line.'
    ### BEGIN SOLUTION
    return <<factor>> * x + <<shift + 1>>
    ### END SOLUTION
```

```python test="line-values" points=4
assert abs(line(0.5) - <<12.00 = line(0.5)>>) < 1e-6, "at one half"
### BEGIN HIDDEN TESTS
for x in (1.0, 4.0):
    assert line(x) == x * <<factor>> + <<shift>> + 1, "another point"
### END HIDDEN TESTS
```

```python distractor="line" loses="line-values"
def line(x):
    return <<factor>> * x + <<shift>>
```

```python answer="same"
def same(x):
    'The same for everybody.'
    ### BEGIN SOLUTION
    return x + 0
    ### END SOLUTION
```

```python test="same-values" points=1
assert same(1) == 1, "one"
### BEGIN HIDDEN TESTS
assert same(2) == 2, "two"
### END HIDDEN TESTS
```

```python distractor="same" loses="same-values"
def same(x):
    return 1
```
"""


@pytest.fixture(scope="module")
def lines() -> source.ProblemSet:
    return source.parse("lines", TEXT)


def code(problems, name) -> str:
    return next(cell.source for cell in problems.cells if cell.name == name)


def test_the_book_has_the_first_choice_and_no_seed_has_it(lines):
    assert "Multiply by 2 and add $11$." in lines.cells[0].source
    assert "line(0.5) - 12.00" in code(lines, "line-values")
    found = {tuple(numbers.drawn(TEXT, seed).values()) for seed in range(60)}
    assert found == {(factor, shift) for factor in (3, 5, 7) for shift in (20, 30)}


def test_a_seed_changes_text_solution_tests_and_what_checks_expect(lines):
    for seed in range(8):
        factor, shift = numbers.drawn(TEXT, seed).values()
        made = lines.variant(seed)
        assert f"Multiply by {factor} and add ${shift + 1}$." in made.cells[0].source
        assert f"line(0.5) - {factor / 2 + shift + 1:.2f})" in code(made, "line-values")
        assert f"x * {factor} + {shift} + 1" in code(made, "line-values")
        assert "<<" not in json.dumps(make.release(made))
        assert [(c.kind, c.name, c.points) for c in made.cells] == [(c.kind, c.name, c.points) for c in lines.cells]


def test_a_set_without_variants_is_the_same_for_everybody(tiny):
    assert tiny.variant(5) is tiny


@pytest.mark.parametrize("wrong", ["factor = two", "factor = ", "factor"])
def test_a_source_that_cannot_be_filled_says_so(wrong):
    with pytest.raises(source.SourceError, match="is written"):
        source.parse("lines", TEXT.replace("factor = 2 | 3 | 5 | 7", wrong))


def test_a_name_that_is_not_there_is_said():
    with pytest.raises(source.SourceError, match=r"<<shift \+ 1>> cannot be computed: NameError"):
        source.parse("lines", TEXT.replace("shift = 10 | 20 | 30", "other = 1"))


def test_a_class_gets_its_notebooks_and_the_list(lines, tmp_path):
    listed = [{"Name": f"Student {i}", "id": f"{100 + i}"} for i in range(30)]
    said = variants.write_class(lines, listed, tmp_path / "out", tmp_path / "grades", "secret")
    assert said[0].startswith("30 notebooks with 6 different sets of numbers")
    kept = variants.entered(tmp_path / "grades")
    assert [line["id"] for line in kept] == [line["id"] for line in listed]
    for line in kept:
        seed = int(line["variant"])
        assert seed == variants.seed_of("secret", "lines", line["id"]) != variants.seed_of("other", "lines", line["id"])
        made = nbformat.read(tmp_path / "out" / line["id"] / "lines.ipynb", as_version=4)
        assert f"Multiply by {numbers.drawn(TEXT, seed)['factor']} " in made.cells[0].source
        assert source.leaks(lines.variant(seed), nbformat.writes(made)) == []
    before = (tmp_path / "grades/variants.csv").read_bytes()
    variants.write_class(lines, listed, tmp_path / "out", tmp_path / "grades", "secret")
    assert (tmp_path / "grades/variants.csv").read_bytes() == before
    with pytest.raises(make.CourseError, match="neither a name nor an id"):
        variants.write_class(lines, [{"mail": "a@b.c"}], tmp_path / "out", tmp_path / "grades", "secret")
    with pytest.raises(make.CourseError, match="two lines of the class list are 'Anna'"):
        variants.write_class(lines, [{"name": "Anna"}, {"name": "Anna"}], tmp_path / "out", tmp_path / "grades", "secret")


def test_a_notebook_bears_a_sign_of_the_student_whom_it_was_made_for(lines, tmp_path):
    """Under whatever name it comes back; what the platform wrote about who handed it in counts more, and it is said."""
    out = tmp_path / "grades"
    listed = [{"name": f"{name} Bo", "id": f"{number}"} for number, name in enumerate(("Anna", "Ben", "Cleo", "Dora"), 101)]
    variants.write_class(lines, listed, tmp_path / "made", out, "secret")
    texts = {line["id"]: (tmp_path / "made" / line["id"] / "lines.ipynb").read_text(encoding="utf-8") for line in listed}
    signs = {key: set(re.findall("foldnet-[0-9a-f]{20}", text)) for key, text in texts.items()}
    assert [len(found) for found in signs.values()] == [1] * 4
    assert len(set().union(*signs.values())) == 4
    assert variants.sign_of("other", "lines", "101") not in signs["101"]
    (tmp_path / "in").mkdir()
    forged = texts["104"].replace(*signs["104"], "foldnet-" + "0" * 20)
    files = {
        **{"homework.ipynb": texts["101"], "101.ipynb": texts["102"], "Ben Bo_9_assignsubmission_file_x.ipynb": texts["103"]},
        **{"cleo_103_77_a.ipynb": texts["103"] + texts["101"], "x.ipynb": forged, "copy.ipynb": texts["101"]},
    }
    for name, text in files.items():
        (tmp_path / "in" / name).write_text(text, encoding="utf-8")
    handed = {one.name: one for one in collect.collect(tmp_path / "in", "lines")[0]}
    variants.recognise(out, list(handed.values()))
    seeds = {line["id"]: int(line["variant"]) for line in variants.entered(out)}
    owners = dict(zip(files, ("101", "102", "102", "103", None, "101")))
    assert {name: one.seed for name, one in handed.items()} == {name: key and seeds[key] for name, key in owners.items()}
    assert {name: one.notes for name, one in handed.items()} == {
        "homework.ipynb": ["2 files are the notebook that was made for 101"],
        "copy.ipynb": ["2 files are the notebook that was made for 101"],
        "101.ipynb": [],
        "Ben Bo_9_assignsubmission_file_x.ipynb": ["this notebook was made for 103"],
        "cleo_103_77_a.ipynb": [],  # two signs say nothing
        "x.ipynb": ["nobody in variants.csv has this name: judged by the numbers of the book"],
    }
    rows = [{"handed in as": one.name, "student": one.student, roster.MADE_FOR: one.made_for} for one in handed.values()]
    claims, left = roster.claimed([{"Student": "Anna Bo", "ID": "101"}, {"Student": "Ben Bo", "ID": "102"}], rows)
    found = [sorted(row["handed in as"] for row in theirs) for _, theirs in claims]
    assert found == [["copy.ipynb", "homework.ipynb"], ["101.ipynb", "Ben Bo_9_assignsubmission_file_x.ipynb"]]
    assert [row["handed in as"] for row in left] == ["cleo_103_77_a.ipynb", "x.ipynb"]


def test_a_set_without_variants_makes_no_class(tiny, tmp_path):
    with pytest.raises(make.CourseError, match="tiny has no variants"):
        variants.write_class(tiny, [{"name": "Anna"}], tmp_path, tmp_path, "secret")


def solution(problems, handed) -> dict:
    """A notebook with the solution of a set, in the student version of another."""
    made = json.loads(nbformat.writes(make.release(handed)))
    answers = {cell.name: cell.source for cell in problems.of("answer")}
    for cell in made["cells"]:
        cell["source"] = answers.get(cell["id"], cell["source"])
    return made


@pytest.mark.course
@walled
def test_each_student_is_judged_by_their_own_numbers(lines, tmp_path):
    """Own numbers earn all; those of the book, which are public, and those of a neighbour earn only what is the same for all."""
    listed = [{"name": name} for name in ("anna", "ben", "cleo")]

    def factors(key):
        return {numbers.drawn(TEXT, variants.seed_of(key, "lines", line["name"]))["factor"] for line in listed}

    key = next(key for key in map(str, range(99)) if len(factors(key)) == 3)
    variants.write_class(lines, listed, tmp_path / "made", tmp_path / "out", key)
    mine = {n["name"]: lines.variant(variants.seed_of(key, "lines", n["name"])) for n in listed}
    handed = {"anna": solution(mine["anna"], mine["anna"]), "ben": solution(lines, mine["ben"])}
    handed |= {"cleo": solution(mine["anna"], mine["anna"]), "dora": solution(lines, lines)}
    (tmp_path / "in").mkdir()
    for name, made in handed.items():
        (tmp_path / "in" / f"{name}.ipynb").write_text(json.dumps(made), encoding="utf-8")
    rows = {row["student"]: row for row in grade.grade(lines, tmp_path / "in", tmp_path / "out", LIMITS)}
    assert {name: row["by tests"] for name, row in rows.items()} == {"anna": "5", "ben": "1", "cleo": "1", "dora": "5"}, rows
    assert "nobody in variants.csv has this name" in rows["dora"]["notes"]
    assert "changed cells put back: line-values" in rows["cleo"]["notes"]
    given = json.loads((tmp_path / "made/ben/lines.ipynb").read_text(encoding="utf-8"))  # the sign is in it
    answers = {cell["id"]: cell["source"] for cell in solution(mine["ben"], mine["ben"])["cells"]}
    for cell in given["cells"]:
        cell["source"] = answers.get(cell["id"], cell["source"])
    for path in (tmp_path / "in").iterdir():
        path.unlink()
    (tmp_path / "in/homework.ipynb").write_text(json.dumps(given), encoding="utf-8")
    rows = {row["student"]: row for row in grade.grade(lines, tmp_path / "in", tmp_path / "out", LIMITS)}
    found = rows["homework"]
    assert (found["by tests"], found["made for"], found["notes"]) == ("5", "ben", "")


def earned(problems, test, names) -> bool:
    """Whether a test passes, public and hidden part, on what is defined here."""
    return classroom.verdict(problems, test, names).passed


VARIED = [
    ("ps1", "means", "means-measured"),
    ("ps2", "errors", "errors-measured"),
    ("ps3", "shares", "shares-measured"),
    ("ps4", "experiment", "errors-measured"),
    ("ps5", "table", "table-fitted"),
    ("ps6", "race", "race-medians"),
    ("ps7", "trained", "trained-counted"),
]


def drawn_numbers(problems, seed) -> list:
    return list(numbers.drawn(problems.text, seed).values())


@kept
@pytest.mark.course
@pytest.mark.parametrize(("name", "answer", "test"), VARIED)
def test_the_solution_of_the_book_loses_what_a_variant_changes(name, answer, test, monkeypatch):
    """The experiment differs from seed to seed: its own solution passes; the book's, a neighbour's and each distractor fail."""
    solve, known = numbers.solved, {}

    def solved(problems) -> dict:  # what fills in the numbers of a variant has run its solution already
        sources = tuple(cell.source for cell in problems.cells if cell.kind in ("given", "answer"))
        known[sources] = known.get(sources) or solve(problems)
        return dict(known[sources])

    monkeypatch.setattr(numbers, "solved", solved)
    problems = source.read(name)
    made = problems.variant(11)
    own = drawn_numbers(problems, 11)
    neighbour = next(seed for seed in range(99) if all(a != b for a, b in zip(drawn_numbers(problems, seed), own)))
    own = numbers.solved(made)
    assert earned(made, test, own)
    wrong = [cell.source for cell in made.of("distractor") if cell.loses == (answer, test)]
    for text in (code(problems, answer), code(problems.variant(neighbour), answer), *wrong):
        names = dict(own)
        exec(text, names)
        assert not earned(made, test, names), text


@kept
def test_every_set_has_variants_and_the_guide_says_how_many():
    guide = (source.ROOT / "book/assignments/instructor.md").read_text(encoding="utf-8")
    assert "**All sets have variants.**" in guide
    assert source.names() == [name for name, *_ in VARIED]
    for name, _, _ in VARIED:
        counts = [len(values) - 1 for values in numbers.choices(source.read(name).text).values()]
        assert f"| {name.upper()} |" in guide
        row = next(line for line in guide.splitlines() if line.startswith(f"| {name.upper()} |"))
        assert row.split("|")[3].strip() == str(math.prod(counts)), row


def test_a_student_looks_with_the_notebook_that_was_given(lines, tmp_path):
    nbformat.write(make.release(lines.variant(3)), tmp_path / "given.ipynb")
    problems, _ = look.public("lines", given=tmp_path / "given.ipynb")
    assert [cell.name for cell in problems.tests] == ["line-values", "same-values"]
    assert problems.tests[0].public == lines.variant(3).tests[0].public != lines.tests[0].public
