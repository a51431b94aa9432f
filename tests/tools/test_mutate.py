"""Mutations are kept as data: each fits the package, and the tool tells a check that turns from one that does not."""

import datetime
import functools
import shutil
import subprocess

import nbformat
import pytest

from foldbook import claims, ledger, notebooks
from tools import mutate


@functools.cache
def in_the_ledger() -> set[str]:
    """The claims with a stored verdict: all notebooks are read, once."""
    return {record["id"] for record in ledger.records()}


@pytest.mark.parametrize("mutation", mutate.mutations(), ids=lambda m: m.id)
def test_each_mutation_fits_the_package_and_a_check_of_its_chapter(mutation):
    assert mutation.problems(mutate.ROOT) == []
    assert claims.claims()[mutation.id].chapter == mutation.chapter
    assert mutation.breaks.strip()
    assert mutation.id in in_the_ledger()


def test_a_mutation_that_does_not_fit_is_told():
    def of(**changes):
        fields = {"where": "foldnet.plots.image", "old": "def  image(", "new": "def imagine("} | changes
        return " ".join(mutate.Mutation("S3-x", "splines/rich", "x", **fields).problems(mutate.ROOT))

    assert of() == ""
    assert "is in no module of foldnet, foldbook, experiments" in of(where="foldnet.nowhere.image")
    assert "is in no module" in of(where="tools.mutate.main")
    assert "there is no imagine in it" in of(where="foldnet.plots.imagine")
    assert "0 times, not once" in of(where="foldnet.plots.show")
    assert "0 times, not once" in of(old="nothing like it")
    assert "changes nothing" in of(old="def image(", new="def image(")
    assert "is no Python" in of(new="def :")


CHECK = """from foldbook.claims import check
from foldnet.half import half

check("S3-find-gauge", "half of four", half(4), 2)"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The package with one more module, and a book with one notebook whose last cell would fail."""
    tmp_path = tmp_path_factory.mktemp("clone")
    for package in mutate.PACKAGES:
        shutil.copytree(mutate.ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(mutate.ROOT / "book/claims", tmp_path / "book/claims")
    shutil.copy(mutate.ROOT / "book/plan.yml", tmp_path / "book")
    (tmp_path / "foldnet/half.py").write_text("def half(x):\n    return x // 2  # floor\n")
    path = tmp_path / "book/splines/breakpoints.ipynb"
    path.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CHECK)]), path)
    notebook = notebooks.execute(path, env={"PYTHONPATH": str(tmp_path)})
    notebook.cells.append(nbformat.v4.new_code_cell("1 / 0"))  # nothing after the check runs
    nbformat.write(notebook, path)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ("x // 2", "x // 3", 0, "turned S3-find-gauge: reproduced -> differs"),
        ("x // 2", "x / nothing", 0, "turned S3-find-gauge: reproduced -> error: NameError"),
        ("floor", "rounded down", 1, "KEPT   S3-find-gauge: reproduced -> reproduced"),
    ],
)
def test_a_check_that_sees_the_break_turns_and_another_is_told(clone, capsys, old, new, code, words):
    data = clone / "tests/mutations/splines/breakpoints.yml"
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_text(f"S3-find-gauge: {{breaks: it, where: foldnet.half.half, old: {old}, new: {new}}}")
    assert mutate.main([], clone) == code
    assert words in capsys.readouterr().out
    assert mutate.main(["splines/depth"], clone) == 1


def test_a_check_that_never_got_its_data_is_not_turned(clone, capsys):
    """As of MNIST on a machine without it: the error comes from the machine and not from the break."""
    data = clone / "tests/mutations/splines/breakpoints.yml"
    data.parent.mkdir(parents=True, exist_ok=True)
    lost = "__import__('foldnet.data').data._file('mnist', 'x', '', ())"
    data.write_text(f"""S3-find-gauge: {{breaks: it, where: foldnet.half.half, old: x // 2, new: "{lost}"}}""")
    assert mutate.main([], clone) == 1
    said = capsys.readouterr().out
    assert "NOT TRIED S3-find-gauge: reproduced -> error: DataMissing: x could not be fetched" in said
    assert said.endswith("0 of 0 checks turned; 1 not tried\n")


def test_another_of_a_sample_takes_the_place_of_one_that_could_not_be_tried(tmp_path, monkeypatch, capsys):
    many = [mutate.Mutation(f"S3-{i}", "splines/rich", "x", "foldnet/x.py", "a", "b") for i in range(5)]
    signs = {f"S3-{i}": mutate.TURNED if i == 3 else mutate.NOT_TRIED for i in range(5)}
    monkeypatch.setattr(mutate, "mutations", lambda *_: many)
    monkeypatch.setattr(mutate, "_tried", lambda chosen, *_: [(m, signs[m.id], "x", 0.0) for m in chosen])
    (tmp_path / "book").mkdir()
    told = set()
    for seed in "abcdef":
        assert mutate.main(["--sample", "1", "--seed", seed], tmp_path) == 0
        *missing, turned, last = capsys.readouterr().out.splitlines()
        assert turned.startswith("turned S3-3:")
        assert all(line.startswith("NOT TRIED") for line in missing)
        assert last.startswith("1 of 1 checks turned")
        told.add(len(missing))
    assert len(told) > 1


def test_a_point_that_turns_is_told_where_the_verdict_stays():
    def record(*verdicts):
        return {"verdict": verdicts[-1], "points": [{"name": k, "verdict": v} for k, v in zip("ab", verdicts)]}

    assert mutate.worded(record("reproduced", "differs"), record("differs", "differs")) == "differs (a: reproduced -> differs)"
    assert mutate.worded(record("reproduced", "differs"), record("reproduced", "differs")) == "differs"
    assert mutate.worded(record("reproduced", "reproduced"), record("reproduced", "differs")) == "differs"


@pytest.fixture
def sampled(tmp_path, monkeypatch):
    """The sample that is taken of a hundred mutations in a folder, with some arguments."""
    many = [mutate.Mutation(f"S3-{i}", "splines/rich", "x", "foldnet/x.py", "a", "b") for i in range(100)]
    taken = []

    def tried(chosen, *_):
        taken[:] = [mutation.id for mutation in chosen]
        return []

    monkeypatch.setattr(mutate, "mutations", lambda *_: many)
    monkeypatch.setattr(mutate, "_tried", tried)
    (tmp_path / "book").mkdir()

    def sample(*arguments):
        mutate.main(["--sample", "3", *arguments], tmp_path)
        return list(taken)

    return sample


def test_a_sample_is_that_of_the_commit_and_not_of_the_day(tmp_path, sampled, monkeypatch):
    class Tomorrow(datetime.date):
        @classmethod
        def today(cls):
            return super().today() + datetime.timedelta(days=1)

    def git(*arguments):
        author = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *author, *arguments], check=True, capture_output=True)

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert mutate.commit(tmp_path) == ""
    without = sampled()
    assert sampled() == without
    git("init")
    assert mutate.commit(tmp_path) == ""  # no commit yet
    samples = []
    for message in ("one", "two", "three"):
        git("commit", "--allow-empty", "-m", message)
        samples.append(sampled())
        with monkeypatch.context() as patch:
            patch.setattr(datetime, "date", Tomorrow)
            assert sampled() == samples[-1]
    assert len({*map(tuple, samples)}) == 3
    git("checkout", "HEAD~1")
    assert sampled() == samples[1]
    assert sampled("--seed", "x") == sampled("--seed", "x")
    assert sampled("--seed", "x") != sampled("--seed", "y")
