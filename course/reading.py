"""Read the texts of a class, question by question: `python -m course.reading SET`, then open the address that it prints.

One answer at a time, beside it the question, the rubric with a tick for each of its points, and a field for the score; keys go
on, and every score is in by_hand.csv at once. Texts that are equal to the letter are read once. The page is served to this
machine alone, at an address nobody can guess, and what students wrote runs nothing in it.

For a team: `--shard 2/3` shows the second third of the texts, `--blind` no names, and `--merge hers.csv his.csv` puts together
what several people entered.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import re
import secrets
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from . import numbers, pages, roster, source
from .book import Book, keep, nobodys, rows, table, texts, write
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
const ticks = [...document.querySelectorAll('input[type=checkbox]')];
for (const tick of ticks) tick.addEventListener('change', () => {
  score.value = ticks.reduce((sum, one) => sum + one.checked * one.value, 0);
  score.dispatchEvent(new Event('change'));
});
for (const button of document.querySelectorAll('#bank button')) button.addEventListener('click', () => {
  comment.value = [comment.value.trim(), button.textContent].filter(Boolean).join(' ');
  comment.dispatchEvent(new Event('change'));
});
score.focus();
score.select();
"""
STYLE = (
    pages.STYLE
    + """
body{max-width:none;margin:1rem}main{display:grid;grid-template-columns:1fr 1fr 19rem;gap:1rem;align-items:start}
#bank button{font:inherit;display:block;width:100%;text-align:left;margin:.2rem 0}.ticks label{display:block;margin:.3rem 0}
main>*{border:1px solid #ccc;padding:0 1rem 1rem;max-height:85vh;overflow:auto}
#score,textarea{font:inherit;width:100%;box-sizing:border-box}
h2{overflow-wrap:anywhere}nav a{margin-right:1rem}.bad{color:#b00020}
"""
)


RUBRIC = re.compile(r"(\d(?:\.5)?) (?:points? )?for (.+?)(?=; (?:and )?\d(?:\.5)? (?:points? )?for |\.(?: |$))", re.DOTALL)
HINTS = re.compile(r"<details>.*?</details>\s*", re.DOTALL)


def ticks(cell: source.Cell) -> list[tuple[float, str]]:
    """The points of a rubric, each with what it is for; none where they do not add up to what the answer is worth."""
    rubric = cell.source.partition("**Rubric.**")[2].split("\n\n")[0]
    found = [(float(points), " ".join(words.split())) for points, words in RUBRIC.findall(rubric)]
    while found and sum(points for points, _ in found) > cell.worth:  # what comes after the points themselves
        found.pop()
    return found if sum(points for points, _ in found) == cell.worth else []


def question(problems: source.ProblemSet, name: str) -> str:
    """What was asked, from the heading of the question to the answer, without hints."""
    found: list[str] = []
    for cell in problems.cells:
        if cell.name == name:
            break
        if cell.kind == "text":
            found = [] if source.QUESTION.search(cell.source) else found
            found.append(HINTS.sub("", cell.source))
    return "\n\n".join(found)


class Desk:
    """The texts of a class in the order in which they are read: by question, then by student.

    Texts of one answer that are equal stand together, under the first who wrote them. Of several shards one is read here; who is
    `blind` sees signs instead of names, in an order that no list has.
    """

    def __init__(self, problems: source.ProblemSet, out: Path, blind: bool = False, shard: tuple[int, int] = (1, 1)):
        self.problems, self.out, self.lock, self.blind = problems, out, Lock(), blind
        self.book = Book(out)
        if not self.book.records:
            raise CourseError(f"nothing of {problems.name} was graded yet")
        self.path = out / "by_hand.csv"
        keep(self.path)
        self.texts = {student: texts(problems, record) for student, record in self.book.records.items()}
        self.begun = {key: entry.score for key, entry in self.hand().entries.items()}
        listed, found = out / "roster.csv", [{"student": s, "handed in as": r["name"]} for s, r in self.book.records.items()]
        self.names = roster.names(roster.read_table(listed) if listed.is_file() else [], found)
        answers = [cell.name for cell in problems.cells if cell.by_hand]
        self.alike: dict[tuple[str, str], list[str]] = {}
        for answer in answers:
            for student in sorted(self.texts):
                if answer in self.texts[student]:
                    self.alike.setdefault((answer, self.shared(answer, student)), []).append(student)
        mine = [key for key in self.alike if int(hashed(*key), 16) % shard[1] == shard[0] - 1]
        self.order = [(answer, self.alike[answer, key][0]) for answer, key in mine]
        if blind:
            self.order.sort(key=lambda text: (answers.index(text[0]), hashed(*text)))
        self.known = {self.called(student): student for student in self.texts}

    def shared(self, answer: str, student: str) -> str:
        """A sign of the texts of an answer that are read as one: equal, for the same numbers, with one score so far; no code."""
        cell, seed = self.texts[student][answer], self.book.records[student].get("seed")
        return f"{cell['sign']} {student if cell['type'] == 'code' else ''} {seed} {self.begun.get((student, answer))}"

    def called(self, student: str) -> str:
        """What a page calls a student: blind, a sign."""
        return hashed(self.problems.name, student)[:8] if self.blind else student

    def hand(self) -> Hand:
        """by_hand.csv as it is now: somebody may have it open elsewhere."""
        hand = Hand(self.problems, self.path)
        for student, found in self.texts.items():
            hand.expect(student, found)
        return hand

    def save(self, sent: dict) -> str:
        """Enter one score; what is wrong with it, or nothing."""
        student, answer = self.known.get(str(sent.get("student")), ""), str(sent.get("answer"))
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
            for one in self.alike[answer, self.shared(answer, student)]:
                before = hand.entries.get((one, answer), Entry())
                hand.entries[one, answer] = Entry(score, comment, self.texts[one][answer]["sign"], before.earlier)
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
        hand = self.hand()
        entry, cell = hand.entries[student, answer], self.texts[student][answer]
        wanted = next(c for c in self.problems.cells if c.name == answer)
        record = self.book.records[student]
        body, _ = pages.bounded(lambda plain: pages.answer(record, cell, plain))
        rubric = pages.prose(wanted.source) if not wanted.code else f"<pre>{html.escape(wanted.source)}</pre>"
        own = numbers.drawn(self.problems.text, record.get("seed"))
        if record.get("seed") is not None and own:
            told = ", ".join(f"{name} = {value}" for name, value in own.items())
            rubric = f"<p><em>This student's numbers: {html.escape(told)}. Below are those of the book.</em></p>{rubric}"
        left = sum(hand.entries[s, a].score is None for a, s in self.order)
        links = [("previous", index - 1), ("next", index + 1)]
        nav = "".join(f'<a id="{name}" href="{i}">{name}</a>' for name, i in links if 0 <= i < len(self.order))
        score = "" if entry.score is None else f"{entry.score:g}"
        earlier = f"<p><em>{html.escape(entry.earlier)}</em></p>" if entry.earlier else ""
        title = pages.titles(self.problems)[answer]
        name = f"text {self.called(student)}" if self.blind else self.names.get(student, student)
        alike = len(self.alike[answer, self.shared(answer, student)])
        if alike > 1:
            body = f"<p><em>{alike} students wrote this very text; the score is for all of them.</em></p>{body}"
        asked = pages.cleaned(pages.prose(question(self.problems, answer)))
        used = Counter(e.comment for (_, a), e in hand.entries.items() if a == answer and e.comment).most_common(8)
        bank = "".join(f'<button type="button">{html.escape(text)}</button>' for text, _ in used)
        marks = "".join(
            f'<label><input type="checkbox" value="{points:g}"> {points:g}: {pages.cleaned(pages.prose(words)[3:-5])}</label>'
            for points, words in ticks(wanted)
        )
        policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; connect-src 'self'"
        data = f'data-student="{html.escape(self.called(student))}" data-answer="{answer}" data-text="{cell["sign"]}"'
        return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}; base-uri 'none'; form-action 'none'">
<title>{html.escape(title)}: {html.escape(name)}</title><style>{STYLE}</style></head><body {data}>
<nav>{nav} {index + 1} of {len(self.order)}, {left} to be read. Keys: Enter or n: on, p: back, c: comment (Ctrl+Enter: on).</nav>
<main><div><h2>{html.escape(title)}: {html.escape(name)}</h2>{body}</div>
<div><details><summary>Question</summary>{asked}</details><h2>Model answer and rubric</h2>{pages.cleaned(rubric)}</div>
<div><h2>Score</h2><label>of {wanted.points:g} <input id="score" inputmode="decimal" value="{score}"></label>{earlier}
<div class="ticks">{marks}</div>
<p><label>Comment <textarea id="comment" rows="8">{html.escape(entry.comment)}</textarea></label></p>
<div id="bank">{bank}</div>
<p id="said" role="status"></p></div></main>
<script nonce="{nonce}">{SCRIPT}</script></body></html>"""


def hashed(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def merge(problems: source.ProblemSet, out: Path, files: list[Path]) -> list[str]:
    """Take over what others entered in copies of by_hand.csv; a sentence for each score given twice, or for nobody."""
    path, said = out / "by_hand.csv", []
    keep(path)
    hand = Hand(problems, path)
    for file in files:
        if not file.is_file():
            raise CourseError(f"there is no file {file}")
        said += [f"{file.name}: {line}" for line in hand.take(Hand(problems, file))]
    write(path, "\ufeff" + hand.file())
    return said + nobodys(problems, Book(out), hand)


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

        def log_message(self, format: str, *args) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    return made, f"http://127.0.0.1:{made.server_port}/{token}/{desk.first()}"


def part(words: str) -> tuple[int, int]:
    """`2/3` as (2, 3)."""
    found = re.fullmatch(r"(\d+)/(\d+)", words)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise CourseError(f"a part is said as 2/3, the second of three; got {words!r}")
    return int(found[1]), int(found[2])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Read the texts of a problem set.")
    parser.add_argument("set", help="as ps2")
    parser.add_argument("--out", type=Path, help="where the grades are (default _grades/SET)")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--blind", action="store_true", help="show no names")
    parser.add_argument("--shard", default="1/1", help="as 2/3: the second of three parts, one for each grader")
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="take over what these copies of by_hand.csv have")
    arguments = parser.parse_args(argv)
    out = (arguments.out or source.HOME / "_grades" / arguments.set).resolve()
    try:
        if arguments.merge:
            print(*merge(source.read(arguments.set), out, arguments.merge), "merged into by_hand.csv", sep="\n")
            return 0
        desk = Desk(source.read(arguments.set), out, arguments.blind, part(arguments.shard))
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
