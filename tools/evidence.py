"""What lint asks of the verdicts of a chapter that has been refereed: `refereed: true` in book/plan.yml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foldbook import plan
from foldbook.claims import MIME, claims

from . import mutate

ROOT = Path(__file__).resolve().parent.parent


def verdicts_are_refereed(nb) -> Iterator[str]:
    """In a refereed chapter a number is printed, a shape has its criterion, a stored run its file, and each check can turn."""
    chapter = plan.chapters().get(plan.chapter_of(nb.name))
    if not chapter or not chapter.refereed:
        return
    turned = {mutation.id for mutation in mutate.mutations(chapter=chapter.name)}
    for i, output in nb.outputs():
        record = output.get("data", {}).get(MIME)
        claim = claims().get(record["id"]) if record else None
        if claim is None:
            continue
        if claim.evidence == "number" and claim.published is None:
            yield f"cell {i}: {claim.id} is a number, and its entry has no published value"
        if claim.evidence == "shape" and not claim.criterion:
            yield f"cell {i}: {claim.id} is a shape, and its entry has no criterion"
        if record.get("stored") and not (ROOT / "book/data" / f"{record['stored']}.jsonl").is_file():
            yield f"cell {i}: {claim.id} rests on {record['stored']}, which book/data lacks"
        if (claim.evidence, record["verdict"]) == ("statement", "reproduced"):
            headline = record["points"][0]
            if not (headline.get("twins") or headline["rivals"]):
                point = headline["name"] or "its value"
                yield f"cell {i}: {claim.id} is reproduced, and no false twin or rival of its headline, {point}, is refuted"
        if claim.id not in turned:
            yield f"cell {i}: {claim.id} has no mutation in tests/mutations/{chapter.name}.yml that turns it"
