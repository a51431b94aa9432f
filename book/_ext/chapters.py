"""The plan of the book: its parts in order, and what each chapter is about, written or not."""

from __future__ import annotations

PARTS = {
    "boolean": (
        "Boolean functions",
        "The smallest worlds, where every function can be counted.",
        {
            "swaps": "How often must the class change along a line? A measure of difficulty that symmetry leaves alone.",
            "capacity": "What a given width and depth can represent: parity, sawtooth, interpolation.",
            "optima": "Every minimum of the XOR network, found by algebra.",
            "training": "All 222 classes of four-input functions, trained many thousand times.",
            "perceptron": "From the perceptron to universal approximation: the classical theorems, tested.",
            "pruning": "How small a network can become after it has learned.",
        },
    ),
    "splines": (
        "Splines",
        "In one dimension a ReLU network is a spline, and everything can be seen.",
        {
            "breakpoints": "Breakpoints, slopes and where random initialization puts them.",
            "landscape": "The loss surface, its critical points and its Hessian.",
            "dynamics": "How breakpoints and slopes move under gradient flow.",
            "depth": "What happens to the pieces when layers are stacked.",
            "smoothing": "Why wide networks fit smoothly: minimum norm and cubic splines.",
            "rich": "The other regime, where breakpoints gather at the data.",
            "beyond": "More dimensions, other activations, and the Radon transform.",
            "gans": "Splines that play against each other.",
        },
    ),
    "geometry": (
        "Geometry",
        "In the plane and above it, a network cuts space into polytopes.",
        {
            "annulus": "How many neurons it takes to enclose a ball, and how well they can.",
            "linearization": "The linear map inside each piece, exactly.",
            "polytopes": "Drawing the pieces, and watching them during training.",
            "images": "The pieces of networks that read digits and pictures.",
            "sensitivity": "The directions in which a network looks.",
            "comparison": "Which networks are alike, judged by their linear maps.",
        },
    ),
    "growth": (
        "Growth",
        "Networks that add a neuron, and so a fold, where one is missing.",
        {
            "bottleneck": "What the gradient asks for and the architecture cannot give.",
            "folding": "Growing at the typical mistake, one crease at a time.",
            "mnist": "Growing a digit reader from almost nothing.",
            "race": "The ways to grow, side by side.",
        },
    ),
}

CHAPTERS = [f"{part}/{chapter}" for part, (_, _, chapters) in PARTS.items() for chapter in chapters]
