"""What nbgrader does for us, in its own environment: `python gradebook.py release|grade FOLDER SET`.

FOLDER is an nbgrader course: source/, release/, submitted/, autograded/, feedback/ and gradebook.db. This runs no submission:
the judge has done that, and its results lie in FOLDER/results. `grade` prints a line of JSON for each student.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbformat import from_dict
from nbgrader import preprocessors as steps
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

STUBS = {"code": "# your code here", "text": "*Your answer.*"}  # as in source.py
HIDDEN = re.compile(r"^\s*### BEGIN HIDDEN TESTS$.*?^\s*### END HIDDEN TESTS$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r'<img\s[^>]*src="(data:image/(?:svg\+xml|png|jpeg)[;,][^"<>]*)"')
TAG = re.compile(r"<(?=[A-Za-z/!?])")
ALT = re.compile(r'\salt="([^"<>]*)"')


class Judged(steps.NbGraderPreprocessor):
    """In the place of nbgrader's own execution: the outputs and verdicts that the judge found, cell by cell."""

    def preprocess(self, nb, resources):
        results = Path("results") / f"{resources['nbgrader']['student']}.json"
        found = json.loads(results.read_text(encoding="utf-8"))
        for cell in nb.cells:
            if cell.cell_type != "code":
                continue
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
            if grade_id in found["verdicts"]:
                verdict = found["verdicts"][grade_id]
                line = {"output_type": "stream", "name": "stdout", "text": verdict["line"] + "\n"}
                failed = {"output_type": "error", "ename": "Test", "evalue": verdict["line"], "traceback": [verdict["line"]]}
                cell.outputs = [from_dict(line if verdict["passed"] else failed)]
            else:
                cell.outputs = [from_dict(output) for output in found["outputs"].get(cell.get("id"), ())]
        return nb, resources


class Discreet(steps.NbGraderPreprocessor):
    """A feedback page shows no hidden test, and nothing of a submission's HTML but its pictures."""

    def preprocess_cell(self, cell, resources, index):
        meta = cell.metadata.get("nbgrader", {})
        if meta.get("grade") and not meta.get("solution"):
            cell.source = HIDDEN.sub("# hidden tests", cell.source)
        if cell.cell_type == "markdown":
            cell.source = TAG.sub("< ", cell.source)  # with the space it is no tag, and in a formula it is the same
        for output in cell.get("outputs", ()):
            if data := output.get("data"):
                output["data"] = plain(data)
        return cell, resources


def plain(data: dict) -> dict:
    """What of an output may be shown in a grader's browser: pictures and text."""
    kept = {mime: data[mime] for mime in ("text/plain", "image/png", "image/jpeg") if mime in data}
    html = data.get("text/html", "")
    if picture := PICTURE.search(html):
        alt = ALT.search(html)
        kept = {"text/html": f'<img src="{picture[1]}" alt="{alt[1] if alt else ""}" style="max-width:100%">'}
    return from_dict(kept)


def settings(folder: Path) -> Config:
    config = Config()
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.db_assignments = []
    config.ClearSolutions.code_stub = {"python": STUBS["code"]}
    config.ClearSolutions.text_stub = STUBS["text"]
    config.Autograde.autograde_preprocessors = [Judged, steps.LimitOutput, steps.SaveAutoGrades, steps.CheckCellMetadata]
    config.Autograde.permissions = 644
    config.GenerateFeedback.preprocessors = [steps.GetGrades, Discreet, CSSHTMLHeaderPreprocessor]
    return config


def release(api: NbGraderAPI, name: str) -> int:
    done = api.generate_assignment(name, force=True, create=True)
    if not done["success"]:
        print((done.get("error") or done.get("log") or "nbgrader could not make the student version").strip(), file=sys.stderr)
    return not done["success"]


def grade(api: NbGraderAPI, folder: Path, name: str) -> int:
    """Grade all students of submitted/, one after the other; one that fails does not stop the others."""
    for student in sorted(path.name for path in (folder / "submitted").iterdir()):
        row: dict = {"student": student, "problem": ""}
        for step in (api.autograde, enter, api.generate_feedback):
            try:
                done = step(name, student, force=True) if step is not enter else enter(folder, name, student)
            except Exception as error:
                done = {"success": False, "error": f"{type(error).__name__}: {error}"}
            if not done["success"]:
                said = (done.get("error") or done.get("log") or "nbgrader stopped").strip()
                row["problem"] = said.splitlines()[-1]
                break
        if not row["problem"]:
            row["grades"] = grades(folder, name, student)
        print(json.dumps(row), flush=True)
    return 0


def enter(folder: Path, name: str, student: str) -> dict:
    """Enter the scores and comments that a person wrote into by_hand.json."""
    path = folder / "by_hand.json"
    written = json.loads(path.read_text(encoding="utf-8")).get(student, {}) if path.is_file() else {}
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as book:
        for cell, given in written.items():
            grade = book.find_grade(cell, name, name, student)
            grade.manual_score, grade.needs_manual_grade = given["score"], False
            book.find_comment(cell, name, name, student).manual_comment = given["comment"] or None
        book.db.commit()
    return {"success": True}


def grades(folder: Path, name: str, student: str) -> list[dict]:
    """Each graded cell: what the tests or a person gave, and whether a person has still to look."""
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as book:
        found = book.find_submission_notebook(name, name, student).grades
        return [
            {"name": g.name, "score": g.score, "open": g.auto_score is None and g.manual_score is None}
            for g in found
        ]


def main(arguments: list[str]) -> int:
    what, folder, name = arguments[0], Path(arguments[1]).resolve(), arguments[2]
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    api = NbGraderAPI(config=settings(folder))
    api.log.setLevel(logging.CRITICAL)
    return release(api, name) if what == "release" else grade(api, folder, name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
