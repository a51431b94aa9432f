"""Is this wrong? Each verdict has a link that opens an issue in the repository, with the claim and its place filled in."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from foldbook import paths
from foldbook._wording import MARKS
from foldbook.notebooks import current_address

VERDICT = re.compile(r'id="claim-([\w.-]+)"')
LINE = re.compile(r"#claim-([\w.-]+)$")  # where the line of a verdict leads
END = re.compile(r"</(?:div|p)>\s*(?:</details>\s*)?\Z")
BODY = "Claim {id}, on the page {page}.\n\nWhat is wrong, and how can one see it? A counterexample is the best kind.\n"


def repository() -> str:
    """The address of the repository, from _config.yml."""
    return current_address(paths.repository())


def address(repository: str, claim: str, page: str = "book/ledger") -> str:
    """The address that opens an issue about a claim."""
    asked = {"title": f"Is {claim} wrong?", "body": BODY.format(id=claim, page=page)}
    return f"{repository}/issues/new?{urlencode(asked)}"


def doubt(claim: str, page: str) -> str:
    """The link that asks whether a claim is wrong."""
    link = address(repository(), claim, page).replace("&", "&amp;")
    return f' <a class="wrong" href="{link}" aria-label="is this wrong? {claim}">is this wrong?</a>'


def doubt_lines(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Puts it at the end of each verdict that a story says in a line: a mark, a sentence, a link to the check."""
    for line in doctree.findall(nodes.paragraph):
        if line.astext()[:2] in {f"{mark} " for mark in MARKS.values()}:
            claims = [found[1] for link in line.findall(nodes.reference) if (found := LINE.search(link.get("refuri", "")))]
            line += [nodes.raw("", doubt(claim, docname), format="html") for claim in claims[-1:]]


class Reports(SphinxTransform):
    """Puts the link at the end of each verdict that a notebook shows."""

    default_priority = 405  # after the cells have their anchors

    def apply(self, **_):
        for output in list(self.document.findall(nodes.raw)):
            text = output.astext()
            if (found := VERDICT.search(text)) and (end := END.search(text)):
                made = text[: end.start()] + doubt(found[1], self.env.docname) + text[end.start() :]
                output.replace_self(nodes.raw(output.rawsource, made, **output.attributes))


def setup(app: Sphinx) -> dict:
    app.add_transform(Reports)
    app.connect("doctree-resolved", doubt_lines)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
