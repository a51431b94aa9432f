"""The plan of the course fits what there is: no set before its stories, every story once, every set out and due."""

import re

import pytest

from course import source
from foldbook import ledger, plan

BOOK = source.ROOT / "book"
PAGES = BOOK / "assignments"
STORY = re.compile(r"\((\.\./\w+/\w+)\.ipynb\)")
pytestmark = pytest.mark.skipif("ps2" not in source.names(), reason="the sources of the problem sets are kept elsewhere")


def weeks() -> dict[int, tuple[list[str], str]]:
    """What is read in each week, and the words on sets and project, from the instructors' table."""
    text = (PAGES / "instructor.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d+)\]\(week-\1\.md\) \| (.+?) \| (.+?) \| [\d.]+ \|$", text, re.MULTILINE)
    return {int(number): ([path.removeprefix("../") for path in STORY.findall(read)], sets) for number, read, sets in rows}


def written() -> set[str]:
    return {name for name, chapter in plan.chapters().items() if chapter.pages(BOOK)}


def further() -> list[str]:
    """The stories that a week's page names for those who want more."""
    text = "".join((PAGES / f"week-{week}.md").read_text(encoding="utf-8") for week in weeks())
    return [path.removeprefix("../") for line in re.findall(r"\*\*To read on:\*\* .+", text) for path in STORY.findall(line)]


def test_every_story_is_read_once_and_two_a_week_at_most():
    read = [name for stories, _ in weeks().values() for name in stories]
    assert sorted(read + further()) == sorted(written())
    assert len(further()) <= len(weeks())  # one a week, on average, for those who want more
    assert list(weeks()) == list(range(1, 10))
    assert max(len(stories) for stories, _ in weeks().values()) <= 2


@pytest.mark.parametrize("name", source.names())
def test_a_set_goes_out_when_its_stories_have_been_read_and_is_due_later(name):
    table, label = weeks(), re.escape(f"[{name.upper()}]({name}.ipynb)")
    out = [week for week, (_, sets) in table.items() if re.search(f"{label} goes out", sets)]
    due = [week for week, (_, sets) in table.items() if re.search(f"{label} is due", sets)]
    assert len(out) == len(due) == 1
    assert out[0] < due[0]
    needed = set(STORY.findall(source.read(name).cells[0].source))
    read = {f"../{story}" for week, (stories, _) in table.items() if week <= out[0] for story in stories}
    assert needed
    assert needed <= read


@pytest.mark.parametrize("week", range(1, 10))
def test_the_page_of_a_week_has_what_the_table_says(week):
    """Its stories, three reading questions for each, slides for each, and the same words on sets."""
    stories, sets = weeks()[week]
    text = (PAGES / f"week-{week}.md").read_text(encoding="utf-8")
    head, questions = text.split("## Reading questions")
    assert [path.removeprefix("../") for path in STORY.findall(head.split("**This week:**")[0])] == stories
    assert re.findall(r"^<!-- made: deck (\S+) -->$", text, re.MULTILINE) == stories
    assert len(re.findall(r"^\d\. .+[?.]$", questions.split("## Slides")[0], re.MULTILINE)) == 3 * max(1, len(stories))
    promised = re.findall(r"\[PS\d\]\(ps\d\.ipynb\) (?:goes out|is due)", sets)
    assert promised == re.findall(r"\[PS\d\]\(ps\d\.ipynb\) (?:goes out|is due)", head)


def test_the_hours_of_a_week_are_the_sum_of_what_it_asks_for():
    """An hour and a quarter for a story with its questions, what the set says that is due, four for a step of the project."""
    text = (PAGES / "instructor.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\| \[(\d+)\]\(week-\d\.md\) .* \| ([\d.]+) \|$", text, re.MULTILINE))
    for week, (stories, sets) in weeks().items():
        due = sum(source.read(name.lower()).hours for name in re.findall(r"\[(PS\d)\]\(ps\d\.ipynb\) is due", sets))
        project = 4 * bool(re.search(r"project(?:\]\(project.md\))?: ", sets))
        assert float(said[str(week)]) == 1.25 * len(stories) + due + project, week


@pytest.mark.parametrize("week", range(1, 10))
def test_every_week_begins_with_something_to_talk_about(week):
    """A question for five minutes whose answer is folded, and no question of the sheet that is read before class."""
    text = (PAGES / f"week-{week}.md").read_text(encoding="utf-8")
    found = re.search(
        r"\*\*Warm-up, five minutes\.\*\* (.+\?)\n\n<details><summary>What to listen for</summary>\n\n(.+)\n\n</details>", text
    )
    question, answer = found.groups()
    assert found.end() < text.index("## Reading questions")
    assert question.split(".")[-1] not in text[found.end() :]
    assert 15 <= len(answer.split()) <= 90


def test_there_are_sets_in_which_networks_are_trained_on_what_the_sets_before_left_out():
    """Optima, depth, dynamics and the race, and the part on geometry."""
    asked = {story.removeprefix("../") for name in source.names() for story in STORY.findall(source.read(name).cells[0].source)}
    assert {"boolean/optima", "splines/depth", "splines/dynamics", "growth/race", "geometry/polytopes"} <= asked


def test_the_project_begins_with_claims_that_are_still_to_be_settled():
    """Some of them may be settled while the book grows, which their line says; most are not. Milestones come before the end."""
    text = (PAGES / "project.md").read_text(encoding="utf-8")
    (chosen,) = re.findall(r"^<!-- made: proposals (.+) -->$", text, re.MULTILINE)
    verdicts = {row["id"]: row["verdict"] for row in ledger.ledger()}
    assert set(chosen.split()) <= set(verdicts)
    unsettled = [claim for claim in chosen.split() if verdicts[claim] in ("open", "differs")]
    assert len(unsettled) >= 8
    milestones = [int(week) for week in re.findall(r"^\| week&nbsp;(\d) \|", text, re.MULTILINE)]
    assert milestones == sorted(milestones)
    assert [week for week, (_, sets) in weeks().items() if "proj" in sets or "proposal" in sets] == milestones


def test_the_points_of_the_rubric_add_up():
    text = (PAGES / "project.md").read_text(encoding="utf-8")
    assert sum(map(int, re.findall(r"^\| (\d+) \|", text, re.MULTILINE))) == 20
    assert "Twenty points" in text


def test_the_policy_says_what_a_class_will_ask():
    headings = re.findall(r"^## (.+)$", (PAGES / "policy.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"Late work", "Help by machines", "Regrading", "Access"} <= set(headings)
