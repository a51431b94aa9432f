"""Read the texts of a class, question by question: `python -m course.reading SET`, then open the address that it prints.

One answer at a time, beside it the rubric and a field for the score; keys go on, and every score is in by_hand.csv at once. The
page is served to this machine alone, at an address nobody can guess, and what students wrote runs nothing in it.
"""

from __future__ import annotations

import argparse
import html
import json
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from . import numbers, pages, roster, source
from .book import Book, keep, rows, table, texts, write
from .errors import CourseError
from .hand import Entry, Hand

SCRIPT = """
const here = document.body.dataset, score = document.getElementById('score'), comment = document.getElementById('comment');
const said = document.getElementById('said');
async function save() {
  const sent = {student: here.student, answer: here.answer, text: here.text, score: score.value, comment: comment.value};
  const reply = await fetch('save', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(sent)});
  const told = await reply.json();
  said.textContent = told.error || 'saved';
  said.className = told.error ? 'bad' : '';
  return !told.error;
}
let saved = [score.value, comment.value].join('\\n');
async function leave(link) {
  if ([score.value, comment.value].join('\\n') !== saved && !(await save())) return;
  const target = document.getElementById(link);
  if (target) location.href = target.href;
}
for (const field of [score, comment]) field.addEventListener('change', async () => {
  if (await save()) saved = [score.value, comment.value].join('\\n');
});
document.addEventListener('keydown', event => {
  const typing = document.activeElement === comment;
  if (event.key === 'Escape') { document.activeElement.blur(); return; }
  if (event.key === 'Enter' && (!typing || event.ctrlKey)) { event.preventDefault(); leave('next'); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'n' || event.key === 'ArrowRight') { event.preventDefault(); leave('next'); }
  if (event.key === 'p' || event.key === 'ArrowLeft') { event.preventDefault(); leave('previous'); }
  if (event.key === 'c') { event.preventDefault(); comment.focus(); }
});
score.focus();
score.select();
"""
STYLE = (
    pages.STYLE
    + """
body{max-width:none;margin:1rem}main{display:grid;grid-template-columns:1fr 1fr 16rem;gap:1rem;align-items:start}
main>*{border:1px solid #ccc;padding:0 1rem 1rem;max-height:85vh;overflow:auto}
input,textarea{font:inherit;width:100%;box-sizing:border-box}
h2{overflow-wrap:anywhere}nav a{margin-right:1rem}.bad{color:#b00020}
"""
)


class Desk:
    """The texts of a class in the order in which they are read: by question, then by student."""

    def __init__(self, problems: source.ProblemSet, out: Path):
        self.problems, self.out, self.lock = problems, out, Lock()
        self.book = Book(out)
        if not self.book.records:
            raise CourseError(f"nothing of {problems.name} was graded yet")
        self.path = out / "by_hand.csv"
        keep(self.path)
        self.texts = {student: texts(problems, record) for student, record in self.book.records.items()}
        self.hand()
        listed, found = out / "roster.csv", [{"student": s, "handed in as": r["name"]} for s, r in self.book.records.items()]
        self.names = roster.names(roster.read_table(listed) if listed.is_file() else [], found)
        answers = [cell.name for cell in problems.cells if cell.by_hand]
        self.order = [(answer, student) for answer in answers for student in sorted(self.texts) if answer in self.texts[student]]

    def hand(self) -> Hand:
        """by_hand.csv as it is now: somebody may have it open elsewhere."""
        hand = Hand(self.problems, self.path)
        for student, found in self.texts.items():
            hand.expect(student, found)
        return hand

    def save(self, sent: dict) -> str:
        """Enter one score; what is wrong with it, or nothing."""
        student, answer = str(sent.get("student")), str(sent.get("answer"))
        if (answer, student) not in self.order:
            return "there is no such text"
        written, comment = str(sent.get("score", "")).strip().replace(",", "."), str(sent.get("comment", "")).strip()
        with self.lock:
            hand = self.hand()
            try:
                score = float(written) if written else None
            except ValueError:
                return f"{written!r} is no score"
            if score is not None and not 0 <= score <= hand.most[answer]:
                return f"a score lies between 0 and {hand.most[answer]:g}"
            before = hand.entries.get((student, answer), Entry())
            hand.entries[student, answer] = Entry(score, comment, self.texts[student][answer]["sign"], before.earlier)
            write(self.path, "\ufeff" + hand.file())
            write(self.out / "grades.csv", table(list(rows(self.problems, self.book, hand))))
        return ""

    def first(self) -> int:
        """The first text that nobody has read."""
        hand = self.hand()
        unread = (i for i, (answer, student) in enumerate(self.order) if hand.entries[student, answer].score is None)
        return next(unread, 0)

    def page(self, index: int, nonce: str) -> str:
        answer, student = self.order[index]
        entry, cell = self.hand().entries[student, answer], self.texts[student][answer]
        wanted = next(c for c in self.problems.cells if c.name == answer)
        record = self.book.records[student]
        body, _ = pages.bounded(lambda plain: pages.answer(record, cell, plain))
        rubric = pages.prose(wanted.source) if not wanted.code else f"<pre>{html.escape(wanted.source)}</pre>"
        own = numbers.drawn(self.problems.text, record.get("seed"))
        if record.get("seed") is not None and own:
            told = ", ".join(f"{name} = {value}" for name, value in own.items())
            rubric = f"<p><em>This student's numbers: {html.escape(told)}. Below are those of the book.</em></p>{rubric}"
        hand = self.hand()
        left = sum(hand.entries[s, a].score is None for a, s in self.order)
        links = [("previous", index - 1), ("next", index + 1)]
        nav = "".join(f'<a id="{name}" href="{i}">{name}</a>' for name, i in links if 0 <= i < len(self.order))
        score = "" if entry.score is None else f"{entry.score:g}"
        earlier = f"<p><em>{html.escape(entry.earlier)}</em></p>" if entry.earlier else ""
        title, name = pages.titles(self.problems)[answer], self.names.get(student, student)
        policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; connect-src 'self'"
        data = f'data-student="{html.escape(student)}" data-answer="{answer}" data-text="{cell["sign"]}"'
        return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}; base-uri 'none'; form-action 'none'">
<title>{html.escape(title)}: {html.escape(name)}</title><style>{STYLE}</style></head><body {data}>
<nav>{nav} {index + 1} of {len(self.order)}, {left} to be read. Keys: Enter or n: on, p: back, c: comment (Ctrl+Enter: on).</nav>
<main><div><h2>{html.escape(title)}: {html.escape(name)}</h2>{body}</div>
<div><h2>Model answer and rubric</h2>{pages.cleaned(rubric)}</div>
<div><h2>Score</h2><label>of {wanted.points:g} <input id="score" inputmode="decimal" value="{score}"></label>{earlier}
<p><label>Comment <textarea id="comment" rows="8">{html.escape(entry.comment)}</textarea></label></p>
<p id="said" role="status"></p></div></main>
<script nonce="{nonce}">{SCRIPT}</script></body></html>"""


def server(desk: Desk, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    """A server for this machine, and the address of the first text that is to be read."""
    token = secrets.token_urlsafe(16)

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status: int, kind: str, body: str) -> None:
            data = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(data)

        def asked(self) -> str | None:
            """What stands behind the secret of the address; None for everybody who does not know it."""
            host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
            start = f"/{token}/"
            return self.path.removeprefix(start) if host in ("127.0.0.1", "localhost") and self.path.startswith(start) else None

        def do_GET(self) -> None:
            asked = self.asked()
            if asked is None or not asked.isdigit() or int(asked) >= len(desk.order):
                return self.answer(404, "text/plain", "There is nothing here.")
            try:
                self.answer(200, "text/html", desk.page(int(asked), secrets.token_urlsafe(12)))
            except CourseError as error:
                self.answer(500, "text/plain", str(error))

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if self.asked() != "save" or length > 200_000 or self.headers.get("Content-Type") != "application/json":
                return self.answer(404, "text/plain", "There is nothing here.")
            try:
                error = desk.save(json.loads(self.rfile.read(length)))
            except (ValueError, AttributeError, CourseError) as problem:
                error = str(problem)
            self.answer(200, "application/json", json.dumps({"error": error}))

        def log_message(self, *_) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    return made, f"http://127.0.0.1:{made.server_port}/{token}/{desk.first()}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Read the texts of a problem set.")
    parser.add_argument("set", help="as ps2")
    parser.add_argument("--out", type=Path, help="where the grades are (default _grades/SET)")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args(argv)
    out = (arguments.out or source.ROOT / "_grades" / arguments.set).resolve()
    try:
        desk = Desk(source.read(arguments.set), out)
        if not desk.order:
            raise CourseError("there is no text to be read")
    except (CourseError, source.SourceError) as error:
        print(f"read: {error}", file=sys.stderr)
        return 1
    made, address = server(desk, arguments.port)
    print(f"{len(desk.order)} texts: open {address}\nCtrl+C ends it; then make grade SET={arguments.set} makes pages", flush=True)
    try:
        made.serve_forever()
    except KeyboardInterrupt:
        print("\nwhat was entered is in by_hand.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
