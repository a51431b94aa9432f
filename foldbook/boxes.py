"""The kinds of boxes that a page may have: `> **Theorem** (its name). ...`

>>> from foldbook.boxes import NAMED
>>> len(NAMED), NAMED[0]
(11, 'Theorem')
"""

STATEMENTS = ("Theorem", "Lemma", "Proposition", "Corollary", "Conjecture", "Definition", "Algorithm", "Correction")
NAMED = (*STATEMENTS, "Example", "Exercise", "Remark")  # what has a name and a number
KINDS = (*NAMED, "Proof")
