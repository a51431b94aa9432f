"""The guide for instructors stays true: its ten commands run as they stand, and print what it says."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

from course import grade, roster, shield, source
from course.tests import zoo

PAGES = source.ROOT / "book/assignments"
HEAD = "## From clone to grades in ten commands\n"
TYPED = "assignsubmission_onlinetext_"
SHEET = 'Identifier,Full name,Status,Grade,Maximum grade,"Last modified (grade)",Comments\n'
pytestmark = pytest.mark.skipif("ps2" not in source.names(), reason="the sources of the problem sets are kept elsewhere")


def section() -> str:
    return (PAGES / "instructor.md").read_text(encoding="utf-8").split(HEAD)[1].split("\n## ")[0]


def commands() -> list[tuple[str, list[str]]]:
    """Each command of the section with the lines that it should print."""
    blocks = re.findall(r"^```console\n\$ (.+)\n((?:.*\n)*?)```$", section(), re.MULTILINE)
    return [(command, lines.splitlines()) for command, lines in blocks]


def printed(text: str, wanted: list[str]) -> bool:
    """Whether a text has these lines in this order; … stands for anything, and spaces count as one."""
    found = iter(" ".join(line.split()) for line in text.splitlines())
    patterns = (re.escape(" ".join(line.split())).replace("…", ".*") for line in wanted)
    return all(any(re.fullmatch(pattern, line) for line in found) for pattern in patterns)


def test_the_section_has_ten_steps_and_begins_with_the_clone_of_this_book():
    assert re.findall(r"^\*\*(\d+)\.\*\*", section(), re.MULTILINE) == [str(number) for number in range(1, 11)]
    address = re.search(r'^Repository = "(.+)"$', (source.HOME / "course/pyproject.toml").read_text(), re.MULTILINE)[1]
    said = [command for command, _ in commands()]
    assert said[1:3] == [f"git clone {address} && cd foldnet", "make book"]
    assert len(said) == 11  # the ninth in two ways, for Moodle and for Canvas


def test_the_points_and_the_file_that_the_guide_shows_are_right():
    """Who makes an assignment with other points is told so only at the end; and the file of Canvas is Anna's on the list."""
    (printed,) = re.findall(r"^ps2: (\d+) points", section(), re.MULTILINE)
    assert f"Make the assignment with {printed} points, the number printed here." in section()
    (name,) = re.findall(r"From Canvas the folder holds files like `(\S+)`", section())
    people = list(csv.DictReader(io.StringIO(re.search(r"^```text\n(.*?)```$", section(), re.MULTILINE | re.DOTALL)[1])))
    claims, left = roster.claimed(people, [{"student": name, "handed in as": name}])
    assert ([line["name"] for line, rows in claims if rows], left) == (["Anna Ünal"], [])
    for said in (
        "If you only grade, leave this out: step 4 installs too.",
        "Canvas takes no zip of these",
        "To begin a set anew",
    ):
        assert said in section()


def test_what_the_guides_ask_of_make_it_can_do():
    """Every line that begins with `make`, in both guides, names targets and words that the Makefile has."""
    makefile = (source.ROOT / "Makefile").read_text(encoding="utf-8")
    text = "".join((PAGES / f"{name}.md").read_text(encoding="utf-8") for name in ("instructor", "student"))
    asked = set(re.findall(r"(?:^|`|\$ )make ([a-z-]+)((?: [A-Z]+=\S+)*)", text, re.MULTILINE))
    assert {"book", "grade", "read", "export", "slides", "exam"} <= {target for target, _ in asked}
    for target, words in asked:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        for word in re.findall(r" ([A-Z]+)=", words):
            assert f"$({word})" in makefile, (target, word)


@pytest.fixture
def clone(tmp_path) -> Path:
    """What of a clone the commands need, beside a home folder with what a platform gave: four students, one without a file."""
    root, home = tmp_path / "foldnet", tmp_path / "home/Downloads"
    ignored = shutil.ignore_patterns("__pycache__", "tests")
    for name in ("foldnet", "foldbook", "experiments", "course", "tools", "book"):
        shutil.copytree(source.ROOT / name if name != "course" else source.HOME / name, root / name, ignore=ignored)
    for name in ("Makefile", "_toc.yml", "_config.yml", "pyproject.toml"):
        shutil.copy(source.ROOT / name, root / name)
    home.mkdir(parents=True)
    problems, release = source.read("ps2"), zoo.release_of("ps2")
    with zipfile.ZipFile(home / "submissions.zip", "w") as packed:
        for person, animal in (("Anna Ünal_1001", zoo.correct), ("Ben Bo_1002", zoo.partly)):
            packed.writestr(f"{person}_assignsubmission_file_/ps2.ipynb", animal(problems, release).text)
        packed.writestr(f"Ben Bo_1002_{TYPED}/onlinetext.html", "<p>see my file</p>")
        packed.writestr(f"Cleo Chan_1003_{TYPED}/onlinetext.html", "<p>sorry</p>")
    (listed,) = re.findall(r"^```text\n(.*?)```$", section(), re.MULTILINE | re.DOTALL)
    (root / "class.csv").write_text(listed, encoding="utf-8")
    people = list(csv.DictReader(io.StringIO(listed)))
    lines = [f"Participant {one['id']},{one['name']},Submitted,,28.00,-,\n" for one in people]
    (home / "worksheet.csv").write_text(SHEET + "".join(lines), encoding="utf-8")
    lines = [f'"{one["name"]}",{one["id"]},,,A,\n' for one in people]
    head = "Student,ID,SIS User ID,SIS Login ID,Section,PS 2 (123)\n    Points Possible,,,,,28.00\n"
    (home / "gradebook.csv").write_text(head + "".join(lines), encoding="utf-8")
    return root


def read_all(process: subprocess.Popen) -> str:
    """Give every text all its points, as a person at the desk would; what was printed."""
    said = ""
    while "Ctrl+C" not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    texts, address = re.search(r"(\d+) texts: open (\S+)", said).groups()
    base = address.rpartition("/")[0]
    for number in range(int(texts)):
        with urllib.request.urlopen(f"{base}/{number}", timeout=120) as reply:
            page = reply.read().decode()
        asked = {name: re.search(rf'data-{name}="([^"]+)"', page)[1] for name in ("student", "answer")}
        sent = asked | {"score": re.search(r"of ([\d.]+) <input id=\"score\"", page)[1], "comment": ""}
        data, kind = json.dumps(sent).encode(), {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{base}/save", data, kind), timeout=120) as reply:
            assert json.loads(reply.read()) == {"error": ""}
    os.killpg(process.pid, signal.SIGINT)
    return said + process.communicate(timeout=60)[0]


@pytest.mark.course
@pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run")
def test_the_ten_commands_run_and_print_what_the_guide_says(clone):
    """From the fourth on: the first three install, and are what every clone begins with."""
    walls = "on" if not shield.missing() and grade.bounded() else "basic"
    keep = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "PYTEST"))}
    settings = keep | {"HOME": str(clone.parent / "home"), "SHIELD": walls, "PYTHONPATH": str(clone)}
    ours = f"make -o .venv/.ready BIN={Path(sys.executable).parent} "
    for command, wanted in commands()[3:]:
        process = subprocess.Popen(
            ["bash", "-c", re.sub("^make ", ours, command)],
            **{"cwd": clone, "env": settings, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT},
            **{"text": True, "start_new_session": True},
        )
        said = read_all(process) if command.startswith("make read") else process.communicate(timeout=600)[0]
        print(f"$ {command}\n{said}")
        assert process.returncode == 0 or command.startswith("make read"), said
        assert printed(said, wanted), said
    out = clone / "_grades/ps2"
    found = {}
    for name, column in (("moodle.csv", "Grade"), ("canvas.csv", "PS 2 (123)"), ("grades-by-roster.csv", "total")):
        with (out / name).open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.DictReader(file) if "Points Possible" not in row.get("Student", "")]
        found[name] = [row[column] for row in rows]
    given = ["28", "27", "0"]
    assert found == {"moodle.csv": [*given, ""], "canvas.csv": [*given, ""], "grades-by-roster.csv": [*given, "0"]}
    with zipfile.ZipFile(out / "moodle-feedback.zip") as packed:
        assert len(packed.namelist()) == 3
