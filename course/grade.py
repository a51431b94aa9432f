"""Grade a folder of submissions: `python -m course.grade SET [SUBMISSIONS] [--out FOLDER]`.

Each submission is restored, run, judged and written down in a process of its own, and the table is written as it goes. Nothing
that one submission does stops the others, and a run that was stopped goes on where it was. Who was graded before stays in the
table; what is handed in again, or anew, is graded. Without a folder, what people wrote into by_hand.csv is entered.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import ctypes
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import nbformat
import psutil

from . import group, make, pages, restore, roster, shield, source, variants
from .book import Book, keep, locked, nobodys, rows, shown, table, texts, write
from .carry import carried
from .collect import LARGEST, Handed, collect, digest
from .errors import CourseError
from .hand import Hand
from .judge import judge
from .kernel import PYTHON, SYSTEM, Limits, before, remove
from .line import Stopwatch, waiting
from .pulse import Pulse
from .submission import MOST_ENDS, Step, Submission

HOME = source.HOME
JUDGE = 6000  # megabytes that the judge itself may take
SCRATCH = "scratch"
AGAIN = "the next make grade tries it again"


def grade(problems: source.ProblemSet, folder: Path | None, out: Path, limits: Limits, jobs=2, again=False) -> list[dict]:
    """Grade what a folder holds and was not graded yet (`again`: all of it); the rows of the table, which is written to `out`."""
    with locked(out):
        Hand(problems, out / "by_hand.csv")  # what it holds must be readable before anything is done
        book = Book(out)
        if folder is None and not book.records:
            raise CourseError(f"nothing of {problems.name} was graded yet: say SUBMISSIONS=folder")
        keep(out / "by_hand.csv")
        keep(out / "grades.csv")
        if folder is not None:
            run(problems, folder, book, limits, jobs, again)
        return settle(problems, book, Hand(problems, out / "by_hand.csv"))


def keep_roster(path: Path, out: Path) -> None:
    """The class list stays beside the grades, so that it is given once."""
    roster.read_table(path)
    out.mkdir(parents=True, exist_ok=True)
    keep(out / "roster.csv")
    shutil.copyfile(path, out / "roster.csv")


def settle(problems: source.ProblemSet, book: Book, hand: Hand) -> list[dict]:
    """Bring by_hand.csv, the table and the pages up to date."""
    for student, record in book.records.items():
        hand.expect(student, texts(problems, record))
    found = list(rows(problems, book, hand))
    write(book.folder / "by_hand.csv", "\ufeff" + hand.file())
    write(book.folder / "grades.csv", table(found))
    listed = book.folder / "roster.csv"
    people = roster.people(roster.read_table(listed)) if listed.is_file() else []
    pages_said = pages.write_pages(problems, book, hand, roster.names(people, found))
    for sentence in (*roster.missed(people, found), *nobodys(problems, book, hand), *pages_said):
        print(f"note: {shown(sentence)}", file=sys.stderr)
    return found


def run(problems: source.ProblemSet, folder: Path, book: Book, limits: Limits, jobs: int, again: bool) -> None:
    """Judge the submissions of a folder, some at a time, each in a process of its own; one that hangs stops nobody."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread beside us: we fork
    handed, others = collect(folder, problems.name, book.known)
    allowed(limits)
    if others:
        print(f"note: left alone, as they are no submissions: {', '.join(map(shown, others[:10]))}", file=sys.stderr)
    clear(book.folder)  # what a run that was killed left behind
    scratch = Path(tempfile.mkdtemp(prefix=f"{SCRATCH}-", dir=book.folder))  # a new name: its `rm` may live on, and be late
    release = make.release(problems)
    variants.recognise(book.folder, handed)
    for one in handed:
        one.digest = digest(one.path)
    base = signed(problems, limits)
    rules = {one.student: base if one.seed is None else f"{base}-{one.seed}" for one in handed}
    todo = [one for one in handed if again or not current(book.records.get(one.student), one, rules[one.student])]
    if len(todo) < len(handed):
        print(f"{len(handed) - len(todo)} of {len(handed)} submissions are graded already and unchanged")
    if todo:
        prepare(problems)
    running: dict[int, tuple[Handed, Pulse, Stopwatch]] = {}
    most = 2 * (MOST_ENDS + 1) * limits.cells + len(problems.tests) * 2 * limits.test + limits.judge
    with tqdm(total=len(todo), unit="submission", desc=problems.name, disable=None) as bar:
        while todo or running:
            while todo and len(running) < max(1, jobs):
                one, pulse = todo.pop(0), Pulse(limits.judge)
                pid = begun(problems, one, release, book, limits, rules[one.student], scratch, pulse)
                running[pid] = (one, pulse, Stopwatch(lambda pid=pid: waiting(pid)))
            for pid, (one, pulse, watch) in list(running.items()):
                (ended, status), reason = os.waitpid(pid, os.WNOHANG), ""
                if not ended and (watch.over(most) or watch.at > pulse.until + watch.lost):
                    reason = f"the judge did not come back from {pulse.at}, and was ended"
                    put_down(pid)
                if ended or reason:
                    del running[pid]
                    reason = reason or (f"the judge ended ({status})" if status else "")
                    if reason or not belongs(book.load(one.student), one, rules[one.student]):
                        said = f"not graded: {reason or 'the judge wrote nothing'}; {AGAIN}"
                        book.save(nothing(one, rules[one.student], [said], release) | {"failed": True})
                    write(book.folder / "grades.csv", table(list(rows(problems, book, Hand(problems)))))
                    bar.update()
            time.sleep(0.02)
    clear(book.folder)


def prepare(problems: source.ProblemSet) -> None:
    """Do once what each judge would do for itself, as it is forked from here: import what its tests import, and measure torch."""
    before()
    for cell in (*problems.of("given"), *problems.tests):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                with contextlib.suppress(Exception):  # a test that cannot have it says so
                    exec(compile(ast.Module([node], []), "<imports>", "exec"), {})


def clear(folder: Path) -> None:
    """Remove the scratch folders of all runs."""
    for scratch in folder.glob(f"{SCRATCH}-*"):
        remove(scratch)


def put_down(pid: int) -> None:
    """End a judge that hangs, and all that it started; one that not even this ends is not waited for."""
    with contextlib.suppress(psutil.Error):
        started = psutil.Process(pid).children(recursive=True)
        os.kill(pid, signal.SIGKILL)
        for process in started:  # they end with their judge, where the system sees to it
            with contextlib.suppress(psutil.Error):
                process.kill()
    for _ in range(100):
        if os.waitpid(pid, os.WNOHANG)[0]:
            break
        time.sleep(0.05)
    group.forsaken(pid)


def allowed(limits: Limits) -> None:
    """Refuse to run untrusted files where the walls are not all there, unless told to."""
    if limits.shield != "off" and any(source.SOURCES.is_relative_to(shown) for shown in (*SYSTEM, *PYTHON)):
        raise CourseError(f"every submission can read the solutions in {source.SOURCES}: put the course elsewhere")
    lacking = shield.missing()
    if not bounded():  # found out once, and known to all that is forked
        lacking.append(
            "You are root, or the system is old, and there are no control groups: the number of processes has no limit, and one"
            " submission that forks without end can hold up this machine for minutes before it is stopped."
        )
    if limits.shield == "full" and lacking:
        raise CourseError(
            "this system does not hold untrusted programs well enough:\n  "
            + "\n  ".join(lacking)
            + "\nGrade on another machine; or say SHIELD=basic to go on with what there is, if you know your students;"
            " or SHIELD=off to run them like your own programs"
        )
    if limits.shield == "basic" and not (shield.bubblewrap() or shield.version()):
        raise CourseError("there is no Landlock here (Linux 5.13 has it): SHIELD=off runs submissions like your own programs")
    for sentence in lacking:
        print(f"note: {sentence}", file=sys.stderr)


def bounded() -> bool:
    """Whether the system itself bounds the processes of a submission: by a control group, or for anybody but root by number."""
    return group.works() or group.counts() or (os.geteuid() != 0 and shield.counted() and shield.separable())


def signed(problems: source.ProblemSet, limits: Limits) -> str:
    """A sign of what a submission is judged by: the source of the set and the limits."""
    cells = [[cell.kind, cell.name, cell.source, cell.points] for cell in problems.cells]
    return hashlib.sha256(json.dumps([cells, asdict(replace(limits, shield=""))]).encode()).hexdigest()[:16]


def belongs(record: dict | None, handed: Handed, rules: str) -> bool:
    """Whether a record is that of this very file, judged by these rules."""
    return record is not None and (record["name"], record["digest"], record["rules"]) == (handed.name, handed.digest, rules)


def current(record: dict | None, handed: Handed, rules: str) -> bool:
    """Whether a file has its record; where the judge failed it is tried again."""
    return record is not None and belongs(record, handed, rules) and not record.get("failed")


def nothing(handed: Handed, rules: str, notes: list[str], release: nbformat.NotebookNode) -> dict:
    """The record of a submission of which nothing counts."""
    return {
        **{"student": handed.student, "name": handed.name, "digest": handed.digest, "rules": rules, "seed": handed.seed},
        "made_for": handed.made_for,
        **{"notes": [*handed.notes, *notes], "cells": cells_of(release), "outputs": {}, "verdicts": {}, "seconds": 0.0},
    }


def cells_of(notebook: nbformat.NotebookNode) -> list[dict]:
    kept = ("id", "source", "attachments")
    return [{"type": cell.cell_type, **{key: cell[key] for key in kept if key in cell}} for cell in notebook.cells]


def begun(problems, handed: Handed, release, book: Book, limits: Limits, rules: str, scratch: Path, pulse: Pulse) -> int:
    """Start a process that grades one submission; its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    parent, pid = os.getpid(), os.fork()
    if pid:
        return pid
    status = 1
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # whoever ends the grading ends us
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if "torch" in sys.modules:  # threads that the parent had do not live here, and torch would wait for them for ever
            sys.modules["torch"].set_num_threads(1)
        if os.getppid() == parent:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_DATA, (JUDGE * 2**20, JUDGE * 2**20))
            record = examined(problems, handed, release, limits, rules, scratch, pulse)
            book.save(record)
            status = 0
    except BaseException as error:  # the one place where a submission's worst must end; or the machine's, on another day
        with contextlib.suppress(BaseException):
            said = f"not graded: {type(error).__name__}: {str(error)[:200]}; {AGAIN}"
            book.save(nothing(handed, rules, [said], release) | {"failed": True})
            status = 0
    finally:
        os._exit(status)


def examined(problems, handed: Handed, release, limits: Limits, rules: str, scratch: Path, pulse: Pulse) -> dict:
    """Restore, run and judge one submission; its record."""
    start, own = time.monotonic(), time.process_time()
    pulse("the numbers of this variant", limits.cells + limits.judge)
    own_set = problems.variant(handed.seed)
    if own_set is not problems:
        problems, release = own_set, make.release(own_set)
    pulse("the file", limits.judge)
    try:
        if handed.path is None:
            raise restore.Unreadable("nothing was graded")
        if handed.path.stat().st_size > LARGEST:
            raise restore.Unreadable(f"the file has more than {LARGEST // 10**6} MB")
        text = restore.decoded(handed.path.read_bytes())
        notebook, notes = restore.restore(problems, text, release)
    except restore.Unreadable as error:
        return nothing(handed, rules, [str(error)], release)
    except OSError as error:
        return nothing(handed, rules, [f"the file cannot be read ({type(error).__name__})"], release)
    tests = {test.name for test in problems.tests}
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.id != "setup"]
    steps = [Step(cell.id, cell.source, cell.id in tests) for cell in code]
    used = []

    def run(cells: list[Step]) -> Submission:
        used.append(Submission(cells, limits, scratch, pulse))
        used[-1].start()
        return used[-1]

    try:
        submission = run(steps)
        verdicts = judge(problems, submission)
        submission.close()
        verdicts = carried(problems, steps, verdicts, run)
    finally:
        for one in used:
            one.close()
    record = nothing(handed, rules, [*notes, *submission.notes], notebook)
    record["outputs"] = {step.key: step.outputs for step in submission.steps if step.outputs}
    record["verdicts"] = {key: asdict(verdict) for key, verdict in verdicts.items()}
    record["seconds"] = round(time.monotonic() - start, 2)
    record["processor"] = round(sum(one.seconds for one in used) + time.process_time() - own, 2)
    return record


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Grade the submissions of a problem set.")
    parser.add_argument("set", help="as ps2")
    parser.add_argument(
        "submissions", type=Path, nargs="?", help="one notebook, or one folder, for each student; without it: enter by_hand.csv"
    )
    parser.add_argument("--out", type=Path, help="where the table, the feedback and the records go (default _grades/SET)")
    parser.add_argument("--jobs", type=int, default=2, help="submissions at the same time (default 2)")
    parser.add_argument("--seconds", type=float, help="limit for the cells of one notebook together")
    parser.add_argument("--roster", type=Path, help="the class list, for the names on pages; it is kept")
    parser.add_argument("--again", action="store_true", help="grade all submissions again, also those that did not change")
    parser.add_argument("--shield", choices=("on", "basic", "off"), default="on", help="basic: no bubblewrap; off: none")
    arguments = parser.parse_args(argv)
    limits = Limits(shield={"on": "full"}.get(arguments.shield, arguments.shield))
    if arguments.seconds:
        limits = replace(limits, cells=arguments.seconds, cell=min(limits.cell, arguments.seconds))
    out = (arguments.out or HOME / "_grades" / arguments.set).resolve()
    folder = arguments.submissions and arguments.submissions.expanduser()
    try:
        if arguments.roster:
            keep_roster(arguments.roster.expanduser(), out)
        found = grade(source.read(arguments.set), folder, out, limits, arguments.jobs, arguments.again)
    except (CourseError, source.SourceError) as error:
        print(f"grade: {error}", file=sys.stderr)
        return 1
    wide = max(len(row["student"]) for row in found)
    for row in found:
        said = shown(row["notes"])
        print(f"{row['student']:<{wide}}  {row['total']:>5} of {row['of']}  {row['to be read']:>4} to be read  {said}")
    print(f"the table: {out / 'grades.csv'}\nthe feedback: {out / 'feedback'}")
    if any(row["to be read"] != "0" for row in found):
        ours = HOME == source.ROOT and out == (HOME / "_grades" / arguments.set).resolve()
        desk = f"make read SET={arguments.set}" if ours else f"python -m course.reading {arguments.set} --out {out}"
        print(f"texts to be read: {desk}, or write scores into {out / 'by_hand.csv'} and grade again")
    return 0


if __name__ == "__main__":
    sys.exit(main())
