"""The playground: every live figure on one page, each with what is needed to take it elsewhere."""

from __future__ import annotations

import html

# Where each figure belongs, in the order of the page, and a question to begin with.
FIGURES = {
    "sheet": ("index", "Three folds can turn one cut into eight straight pieces. Find a sheet where they make only four."),
    "breakpoints": ("splines/breakpoints", "Press *Draw again* ten times. What share of all bends lies between −1 and 1?"),
    "dynamics": ("splines/dynamics", "Train from torch's start, then from an even one. Which bends never move, and why?"),
    "landscape": ("splines/landscape", "Find a place for the orange bend where *Descend* does nothing, though the loss is high."),
    "smoothing": ("splines/smoothing", "Train with α = 5, then with α = 0.1. Who moves: the curve, or its bends as well?"),
    "ends": ("splines/smoothing", "Let the bends reach far beyond the data. Which spline does the curve become?"),
    "depth": ("splines/depth", "Let the dashed line down: when are two breakpoints born, and when do two die?"),
    "capacity": ("boolean/capacity", "Build by depth: what is the smallest network you can find for parity of 12 bits?"),
    "optima": ("boolean/optima", "Drop 200 starts. How many find a perfect fit, and where do the others stay?"),
    "swaps": ("boolean/swaps", "Parity of three inputs can be seen with three changes of colour. Can you find the line?"),
    "training": ("boolean/training", "Paint a function that none of twenty networks learns. What do such boards have in common?"),
    "census": (
        "boolean/training",
        "Which measure puts the functions in order for ReLUs, for tanh, for the sine? Let the point walk.",
    ),
    "perceptron": ("boolean/perceptron", "Drag a point to where the line takes longest. When does it never stop?"),
    "pruning": ("boolean/pruning", "Keep three of six neurons that know the answer. Can they learn it again?"),
    "beyond": ("splines/beyond", "Dome or lid: what does a wide network put over a hole in its data?"),
    "gans": ("splines/gans", "Can the forger reach the other town, one small step at a time?"),
    "bottleneck": ("growth/bottleneck", "Settle the old weights, place a neuron, then compare. Can you beat the formula?"),
    "folding": ("growth/folding", "Fold at a mistake and train on. Does the fold stay where you put it?"),
    "corner": ("growth/folding", "How strong must the new neuron be to fold the boundary by a right angle?"),
    "race": ("growth/race", "Eight neurons from the start, or one by one: which network is ahead at the end?"),
    "sensitivity": ("geometry/sensitivity", "Turn a direction: how much of what a network feels does it explain?"),
    "images": ("geometry/images", "Train ten maps on small digits and paint one. What does each piece look at?"),
    "comparison": ("geometry/comparison", "Translate one network into another. What does a linear source know?"),
    "mnist": ("growth/mnist", "The best neurons for a few images: what are they worth on others?"),
    "shore": ("geometry/annulus", "Raise the water. At which level does the shore have five corners?"),
    "polytopes": ("geometry/polytopes", "Train, then add a layer: do lines of layer 2 cross those of layer 1 straight?"),
}


def write(site) -> str:
    """One section a figure: its question, the figure, its chapter, and how to take it elsewhere."""
    from foldbook.live import figures, live

    if missing := set(figures()) ^ set(FIGURES):
        site.warn("the playground and the live figures differ in %s", ", ".join(sorted(missing)))
    parts = []
    for name, (page, question) in FIGURES.items():
        figure = live(name)
        address = site.address(page) if page and page != "index" else None
        chapter = f"Its chapter: [{page.split('/')[1]}](/book/{page}.ipynb)." if address else ""
        parts.append(f"## {figure.title}\n\n{question} {chapter}\n\n```{{raw}} html\n{figure.html}\n{_take(name)}\n```\n")
    return "\n".join(parts)


def _take(name: str) -> str:
    """A page that stands alone, and the lines that put it elsewhere."""
    line = f'<iframe src="{name}.html" title="{name}" width="100%" height="820" style="border:0"></iframe>'
    return (
        f'<details><summary>Take it with you</summary>\n<p><a href="../_static/live/{name}.html" download>{name}.html</a> '
        "is one file, complete in itself (code under the MIT licence, words under CC BY 4.0). Put beside a page:</p>\n"
        f"<pre><code>{html.escape(line)}</code></pre>\n<p>In a notebook:</p>\n"
        f'<pre><code>from foldbook.live import live\nlive("{name}")</code></pre></details>'
    )
