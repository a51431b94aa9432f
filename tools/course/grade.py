"""Grade a folder of submissions: `python -m tools.course.grade SET SUBMISSIONS [--out FOLDER]`.

Each submission is restored, run and judged in a process of its own; nbgrader keeps the book and writes the feedback. Nothing that
one submission does stops the others: what goes wrong with it stands in its line of the table.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import nbformat

from . import make, restore, shield, source
from .kernel import Limits
from .make import CourseError

ROOT = source.ROOT
LARGEST = 20_000_000  # bytes of a submitted file


@dataclass
class Handed:
    """One student's submission: the name in the gradebook, the file, and what there is to say about it."""

    student: str
    path: Path | None
    name: str = ""
    notes: list[str] = field(default_factory=list)
    grades: list[dict] = field(default_factory=list)


def collect(folder: Path, name: str) -> list[Handed]:
    """The submissions in a folder: `anna.ipynb`, or `anna/.../ps2.ipynb` as learning platforms and nbgrader pack them."""
    if not folder.is_dir():
        raise CourseError(f"there is no folder {folder}")
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_symlink():
            found.append(Handed(path.stem, None, path.name, ["a link is no submission"]))
        elif path.is_dir():
            found.append(chosen(path, name))
        elif path.suffix == ".ipynb":
            found.append(Handed(path.stem, path, path.name))
    if not found:
        raise CourseError(f"there is no notebook in {folder}: one file for each student, or one folder with a notebook in it")
    taken: set[str] = set()
    for handed in found:  # nbgrader takes a student's name for a part of a path
        plain = re.sub(r"[^\w.@-]", "_", handed.student).strip(".") or "nameless"
        handed.student = next(n for n in (plain, *(f"{plain}-{i}" for i in range(2, 10**6))) if n not in taken)
        taken.add(handed.student)
    return found


def chosen(folder: Path, name: str) -> Handed:
    """The one notebook of a student's folder: the one with the set's name, or the only one there is."""
    files = [p for p in sorted(folder.rglob("*.ipynb")) if p.is_file() and ".ipynb_checkpoints" not in p.parts]
    files = [p for p in files if not p.is_symlink() and p.resolve().is_relative_to(folder.resolve())]
    named = [p for p in files if p.stem.lower() == name]
    if len(named) == 1 or len(files) == 1:
        return Handed(folder.name, (named or files)[0], folder.name)
    what = "no notebook" if not files else f"{len(files)} notebooks and not one named {name}.ipynb"
    return Handed(folder.name, None, folder.name, [f"{what} in the folder"])


def prepare(problems: source.ProblemSet, handed: Handed, release: nbformat.NotebookNode, course: Path, limits: Limits) -> Path:
    """Restore a submission into the course; the plan for its judge."""
    try:
        if handed.path is None:
            raise restore.Unreadable("nothing was graded")
        if handed.path.stat().st_size > LARGEST:
            raise restore.Unreadable(f"the file has more than {LARGEST // 10**6} MB")
        text = handed.path.read_text(encoding="utf-8")
        notebook, notes = restore.restore(problems, text, release)
        handed.notes += notes
    except (restore.Unreadable, OSError, UnicodeDecodeError) as error:
        reason = str(error) if isinstance(error, restore.Unreadable) else "the file cannot be read as text"
        handed.notes.append(reason)
        notebook, handed.path = nbformat.from_dict(release), None
    target = course / "submitted" / handed.student / problems.name / f"{problems.name}.ipynb"
    target.parent.mkdir(parents=True)
    nbformat.write(notebook, target)
    tests = {test.name for test in problems.tests}
    steps = [
        {"key": c.id, "source": "" if c.id in tests else c.source, "keeps": problems.keeps.get(c.id, [])}
        for c in notebook.cells
        if c.cell_type == "code" and c.id != "setup"
    ]
    plan = course / "plans" / f"{handed.student}.json"
    plan.parent.mkdir(exist_ok=True)
    sources = str(source.SOURCES)
    plan.write_text(json.dumps({"set": problems.name, "sources": sources, "steps": steps, "limits": asdict(limits)}))
    return plan


def judged(problems: source.ProblemSet, handed: Handed, plan: Path, course: Path, limits: Limits) -> None:
    """Let the judge run a submission; where it cannot, every test is failed and the note says why."""
    result = course / "results" / f"{handed.student}.json"
    result.parent.mkdir(exist_ok=True)
    most = 6 * (limits.cells + limits.tests)
    reason = handed.notes[-1] if handed.path is None else ""
    if not reason:
        command = [sys.executable, "-m", "tools.course.judge", str(plan), str(result)]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=most)
            if done.returncode or not result.is_file():
                reason = (done.stderr.strip().splitlines() or ["the judge ended without a word"])[-1]
        except subprocess.TimeoutExpired:
            reason = f"it took longer than {most:.0f} s"
        if reason:
            handed.notes.append(f"not graded: {reason}")
    if reason:
        failed = {test.name: {"passed": False, "line": reason} for test in problems.tests}
        result.write_text(json.dumps({"outputs": {}, "verdicts": failed, "notes": []}), encoding="utf-8")
    handed.notes += json.loads(result.read_text(encoding="utf-8"))["notes"]


def keep_book(problems: source.ProblemSet, all_handed: list[Handed], course: Path) -> None:
    """Let nbgrader enter what the judge found, and write the feedback."""
    done = make.course("grade", course, problems.name)
    rows = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            rows[row["student"]] = row
    if done.returncode and not rows:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        raise CourseError(f"nbgrader could not keep the book: {said[-1]}")
    for handed in all_handed:
        row = rows.get(handed.student, {"problem": "nbgrader did not come to it"})
        if row["problem"]:
            handed.notes.append(f"nbgrader: {row['problem']}")
        handed.grades = row.get("grades", [])


def table(problems: source.ProblemSet, all_handed: list[Handed]) -> Iterator[dict]:
    """One row for each student: what each question earned, what a person must still read, and what there is to say."""
    graded = [cell for cell in problems.cells if cell.points is not None]
    for handed in all_handed:
        score = {g["name"]: g for g in handed.grades}
        row: dict = {"student": handed.student}
        for cell in graded:
            grade = score.get(cell.name)
            row[f"{cell.name} ({cell.points:g})"] = "" if not grade or (cell.by_hand and grade["open"]) else f"{grade['score']:g}"
        row["by tests"] = f"{sum(score[c.name]['score'] for c in problems.tests if c.name in score):g}"
        row["by hand"] = f"{sum(score[c.name]['score'] for c in graded if c.by_hand and c.name in score):g}"
        row["to be read"] = f"{sum(c.points for c in graded if c.by_hand and score.get(c.name, {}).get('open')):g}"
        row["total"] = f"{float(row['by tests']) + float(row['by hand']):g}"
        row["of"] = f"{problems.points:g}"
        row["handed in as"] = handed.name
        row["notes"] = "; ".join(handed.notes)
        yield row


def read_by_hand(problems: source.ProblemSet, path: Path) -> dict[str, dict[str, dict]]:
    """What a person wrote into by_hand.csv: scores and comments, by student and answer."""
    most = {cell.name: cell.points for cell in problems.cells if cell.by_hand}
    found: dict[str, dict[str, dict]] = {}
    with path.open(newline="", encoding="utf-8-sig") if path.is_file() else contextlib.nullcontext([]) as file:
        for line, row in enumerate(csv.DictReader(file), 2):
            if not (row.get("score") or "").strip():
                continue
            try:
                score = float(row["score"].replace(",", "."))
            except ValueError:
                raise CourseError(f"{path.name}, line {line}: {row['score']!r} is no score") from None
            if row["answer"] not in most or not 0 <= score <= most[row["answer"]]:
                raise CourseError(f"{path.name}, line {line}: {row['answer']} has no score {score:g}")
            found.setdefault(row["student"], {})[row["answer"]] = {"score": score, "comment": row.get("comment") or ""}
    return found


def write_by_hand(problems: source.ProblemSet, all_handed: list[Handed], path: Path, known: dict) -> None:
    """The table that a person fills in: one line for each text or figure to be read; what was filled in stays."""
    rows = []
    for handed in all_handed:
        scores = {g["name"]: g for g in handed.grades}
        for cell in (c for c in problems.cells if c.by_hand and c.name in scores):
            entered = known.get(handed.student, {}).get(cell.name)
            if entered or scores[cell.name]["open"]:
                score = f"{entered['score']:g}" if entered else ""
                comment = entered["comment"] if entered else ""
                row = {"student": handed.student, "answer": cell.name, "of": f"{cell.points:g}"}
                rows.append(row | {"score": score, "comment": comment})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["student", "answer", "of", "score", "comment"])
        writer.writeheader()
        writer.writerows(rows)


def grade(name: str, folder: Path | None, out: Path, limits: Limits, jobs: int = 2) -> list[dict]:
    """Grade all submissions of a folder; the rows of the table, which is also written to `out`.

    Without a folder nothing is run again: what a person wrote into by_hand.csv is entered, and table and feedback are made anew.
    """
    problems, course = source.read(name), out / "course"
    known = read_by_hand(problems, out / "by_hand.csv")
    handed_in = course / "handed.json"
    if folder is not None:
        all_handed = run(problems, folder, course, limits, jobs)
        handed_in.write_text(json.dumps([[h.student, h.name, h.notes] for h in all_handed]), encoding="utf-8")
    elif handed_in.is_file():
        all_handed = [Handed(s, None, name, notes) for s, name, notes in json.loads(handed_in.read_text(encoding="utf-8"))]
    else:
        raise CourseError(f"nothing of {name} was graded yet: say SUBMISSIONS=folder")
    (course / "by_hand.json").write_text(json.dumps(known), encoding="utf-8")
    keep_book(problems, all_handed, course)
    write_by_hand(problems, all_handed, out / "by_hand.csv", known)
    rows = list(table(problems, all_handed))
    with (out / "grades.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    pages = out / "feedback"
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir()
    for handed in all_handed:
        made = course / "feedback" / handed.student / name / f"{name}.html"
        if made.is_file():
            shutil.copy(made, pages / f"{handed.student}.html")
    return rows


def run(problems: source.ProblemSet, folder: Path, course: Path, limits: Limits, jobs: int) -> list[Handed]:
    """Restore and judge all submissions, some at a time."""
    from tqdm import tqdm

    all_handed = collect(folder, problems.name)
    if not shield.version() and not limits.bare:
        raise CourseError(
            "this system has no Landlock (Linux 5.13 or newer has it), so a submission could read your files; grade on another"
            " machine, or say SHIELD=off if you know every student and every line"
        )
    if not limits.bare and not shield.separable():
        print("note: this system grants no namespaces; the instructor's guide says what that leaves open", file=sys.stderr)
    for old in ("submitted", "autograded", "feedback", "plans", "results"):  # never the gradebook: it holds what people graded
        shutil.rmtree(course / old, ignore_errors=True)
    course.mkdir(parents=True, exist_ok=True)
    release = make.release(problems, course)
    plans = [prepare(problems, handed, release, course, limits) for handed in all_handed]
    with ThreadPoolExecutor(jobs) as pool, tqdm(total=len(plans), unit="submission", desc=problems.name) as bar:
        running = [pool.submit(judged, problems, h, plan, course, limits) for h, plan in zip(all_handed, plans)]
        for done in as_completed(running):
            done.result()
            bar.update()
    return all_handed


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Grade the submissions of a problem set.")
    parser.add_argument("set", help="as ps2")
    parser.add_argument(
        "submissions", type=Path, nargs="?", help="one notebook, or one folder, for each student; without it: enter by_hand.csv"
    )
    parser.add_argument("--out", type=Path, help="where the table, the feedback and the gradebook go (default _grades/SET)")
    parser.add_argument("--jobs", type=int, default=2, help="submissions at the same time (default 2)")
    parser.add_argument("--seconds", type=float, help="limit for the cells of one notebook together")
    parser.add_argument("--shield", choices=("on", "off"), default="on", help="off: grade where there is no Landlock")
    arguments = parser.parse_args(argv)
    limits = Limits(bare=arguments.shield == "off")
    if arguments.seconds:
        limits = replace(limits, cells=arguments.seconds, cell=min(limits.cell, arguments.seconds))
    out = (arguments.out or ROOT / "_grades" / arguments.set).resolve()
    try:
        rows = grade(arguments.set, arguments.submissions and arguments.submissions.expanduser(), out, limits, arguments.jobs)
    except (CourseError, source.SourceError) as error:
        print(f"grade: {error}", file=sys.stderr)
        return 1
    wide = max(len(row["student"]) for row in rows)
    for row in rows:
        print(f"{row['student']:<{wide}}  {row['total']:>5} of {row['of']}  {row['to be read']:>4} to be read  {row['notes']}")
    print(f"the table: {out / 'grades.csv'}\nthe feedback: {out / 'feedback'}")
    if any(row["to be read"] != "0" for row in rows):
        print(f"texts to be read: write scores into {out / 'by_hand.csv'}, then make grade SET={arguments.set}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
