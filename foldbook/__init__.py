"""foldbook: what the pages of the book need. Claims and verdicts, stored runs, exercises, figures that move.

It imports foldnet; foldnet never imports it.
"""
